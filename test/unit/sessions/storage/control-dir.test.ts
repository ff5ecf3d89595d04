import {
  chmod,
  chown,
  mkdir,
  mkdtempDisposable,
  readdir,
  readlink,
  symlink,
  writeFile,
} from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { openControlDir } from "../../../../src/sessions/storage/control-dir.ts";

const STRANGER = 54_321;
const isRoot = process.geteuid?.() === 0;

async function scratch() {
  const directory = await mkdtempDisposable(join(tmpdir(), "ttyhq-control-dir-"));
  return { parent: directory.path, path: join(directory.path, "c"), remove: () => directory.remove() };
}

test("a control directory that others could replace is refused and not created", async () => {
  const { parent, path, remove } = await scratch();
  await using _ = { [Symbol.asyncDispose]: remove };
  await chmod(parent, 0o777);
  expect(() => openControlDir(path)).toThrow(`chmod go-w ${parent}`);
  expect(await readdir(parent)).toEqual([]);
});

test("a control directory that others could write into is refused, and its mode stays", async () => {
  const { path, remove } = await scratch();
  await using _ = { [Symbol.asyncDispose]: remove };
  await mkdir(path);
  await chmod(path, 0o777);
  expect(() => openControlDir(path)).toThrow(`mode 0777) is writable by others: chmod go-w ${path}`);
  await chmod(path, 0o755);
  expect(() => openControlDir(path)).not.toThrow();
});

test("what somebody else has put into a control directory is refused: a link in place of a secret", async () => {
  const { path, parent, remove } = await scratch();
  await using _ = { [Symbol.asyncDispose]: remove };
  const { secret } = openControlDir(path);
  await writeFile(join(parent, "known"), "x".repeat(64));
  await symlink(join(parent, "known"), secret);
  expect(() => openControlDir(path)).toThrow(`is a symbolic link: rm ${secret}`);
});

test.runIf(isRoot)(
  "a control directory, or a file in it, that belongs to another user is refused",
  async () => {
    const { path, remove } = await scratch();
    await using _ = { [Symbol.asyncDispose]: remove };
    const { secret } = openControlDir(path);
    await writeFile(secret, "x".repeat(64), { mode: 0o600 });
    await chown(secret, STRANGER, 0);
    expect(() => openControlDir(path)).toThrow(`belongs to another user: chown 0 ${secret}`);
    await chown(secret, 0, 0);
    await chown(path, STRANGER, 0);
    expect(() => openControlDir(path)).toThrow(`belongs to another user: chown 0 ${path}`);
  },
);

test("the link to a session host's socket elsewhere is replaced at every start", async () => {
  const { parent, path, remove } = await scratch();
  await using _ = { [Symbol.asyncDispose]: remove };
  for (const name of ["one.sock", "other.sock"]) {
    expect(openControlDir(path, join(parent, name)).hostSocket).toBe(join(parent, name));
    expect(await readlink(join(path, "host.sock"))).toBe(join(parent, name));
  }
  expect(() => openControlDir(path)).not.toThrow();
});
