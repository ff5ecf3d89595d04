import { execFile } from "node:child_process";
import {
  chmod,
  chown,
  mkdir,
  mkdtempDisposable,
  rename,
  symlink,
  truncate,
  writeFile,
} from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { promisify } from "node:util";
import { expect, test } from "vitest";
import { readKeyFile } from "../../../../src/auth/ssh/key-file.ts";

const run = promisify(execFile);
const KEYS = "the keys";
/** The user who runs the tests. */
const self = { uid: process.geteuid?.() ?? 0 };

async function place() {
  const directory = await mkdtempDisposable(join(tmpdir(), "ttyhq-keys-"));
  const home = join(directory.path, "home");
  const path = join(home, ".ssh", "authorized_keys");
  await mkdir(dirname(path), { recursive: true, mode: 0o700 });
  await writeFile(path, KEYS, { mode: 0o600 });
  const read = async (owner = {}): Promise<string | undefined> => {
    const bytes = await readKeyFile(path, { ...self, home, ...owner });
    return bytes && Buffer.from(bytes).toString();
  };
  return { home, path, root: directory.path, read, [Symbol.asyncDispose]: () => directory.remove() };
}

const refused = (message: RegExp) => ({ code: "forbidden", message: expect.stringMatching(message) });

test("a file that nobody else can write is read", async () => {
  await using there = await place();
  expect(await there.read()).toBe(KEYS);
  await chmod(there.path, 0o644);
  await chmod(there.home, 0o755);
  expect(await there.read()).toBe(KEYS);
});

test("a missing file or directory is no error", async () => {
  await using there = await place();
  await rename(there.path, `${there.path}.old`);
  expect(await there.read()).toBeUndefined();
  await rename(dirname(there.path), `${dirname(there.path)}.old`);
  expect(await there.read()).toBeUndefined();
  await writeFile(dirname(there.path), "a file");
  expect(await there.read()).toBeUndefined();
});

test.each([0o620, 0o602, 0o666])("a file with mode %o is refused", async (mode) => {
  await using there = await place();
  await chmod(there.path, mode);
  await expect(there.read()).rejects.toMatchObject(refused(/authorized_keys is writable by others/));
});

test.each([0o770, 0o707, 0o1777])("a file below a directory with mode %o is refused", async (mode) => {
  await using there = await place();
  await chmod(there.home, mode);
  await expect(there.read()).rejects.toMatchObject(refused(/home is writable by others/));
  await chmod(there.home, 0o700);
  await chmod(dirname(there.path), mode);
  await expect(there.read()).rejects.toMatchObject(refused(/\.ssh is writable by others/));
});

test("directories above the home may be writable by others", async () => {
  await using there = await place();
  await chmod(there.root, 0o777);
  expect(await there.read()).toBe(KEYS);
});

test("a file that belongs to neither the user nor root is not read", async () => {
  await using there = await place();
  if (self.uid === 0) await chown(there.path, 1, 1);
  await expect(there.read({ uid: self.uid + 2 })).rejects.toMatchObject(refused(/belongs to another user/));
});

test("a link is followed, and its target is checked", async () => {
  await using there = await place();
  const elsewhere = join(there.home, "dotfiles");
  await mkdir(elsewhere);
  await rename(there.path, join(elsewhere, "keys"));
  await symlink("../dotfiles/keys", there.path);
  expect(await there.read()).toBe(KEYS);
  await chmod(elsewhere, 0o777);
  await expect(there.read()).rejects.toMatchObject(refused(/dotfiles is writable by others/));
});

test("a link out of the home to a place that others can write is refused", async () => {
  await using there = await place();
  await rename(there.path, join(there.root, "keys"));
  await symlink(join(there.root, "keys"), there.path);
  await expect(there.read()).rejects.toMatchObject(refused(/tmp is writable by others/));
});

test("links in a circle are refused", async () => {
  await using there = await place();
  await rename(there.path, `${there.path}.old`);
  await symlink("authorized_keys", there.path);
  await expect(there.read()).rejects.toMatchObject(refused(/cannot be read/));
});

test("a pipe, a directory and a device are not read", async () => {
  await using there = await place();
  await rename(there.path, `${there.path}.old`);
  await run("mkfifo", [there.path]);
  await expect(there.read()).rejects.toMatchObject(refused(/not a regular file/));
  await rename(there.path, `${there.path}.pipe`);
  await mkdir(there.path);
  await expect(there.read()).rejects.toMatchObject(refused(/not a regular file/));
  await rename(there.path, `${there.path}.directory`);
  await symlink("/dev/zero", there.path);
  await expect(there.read()).rejects.toMatchObject(refused(/not a regular file/));
});

test("a file of 1 MiB is read, and one with a byte more is refused", async () => {
  await using there = await place();
  await truncate(there.path, 1024 * 1024);
  expect(await there.read()).toHaveLength(1024 * 1024);
  await truncate(there.path, 1024 * 1024 + 1);
  await expect(there.read()).rejects.toMatchObject(refused(/larger than 1048576 bytes/));
});
