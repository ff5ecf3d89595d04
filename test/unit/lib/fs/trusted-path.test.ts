import { execFileSync } from "node:child_process";
import { chmod, chown, link, mkdir, mkdtempDisposable, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import {
  checkOwnEntry,
  checkTrustedPath,
  type TrustContext,
  trustContext,
} from "../../../../src/lib/fs/trusted-path.ts";

const STRANGER = 54_321;
const own = trustContext();
const isRoot = own.uid === 0;

/** A folder that is its owner's alone, with a file in it. */
async function scratch() {
  const directory = await mkdtempDisposable(join(tmpdir(), "ttyhq-trusted-"));
  const folder = join(directory.path, "folder");
  const file = join(folder, "file");
  await mkdir(folder, { mode: 0o755 });
  await writeFile(file, "secret", { mode: 0o600 });
  return { path: directory.path, folder, file, [Symbol.asyncDispose]: () => directory.remove() };
}

const refusal = (path: string, context?: TrustContext): string => {
  try {
    checkTrustedPath(path, context);
    return "";
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
};

test("a path whose parts are this user's or root's, and nobody else's to write, is trusted", async () => {
  await using place = await scratch();
  expect(refusal(place.file)).toBe("");
  expect(refusal(join(place.folder, "not", "there", "yet"))).toBe("");
  expect(refusal("/etc/passwd")).toBe("");
});

test("a file or directory that others may write is refused with a remedy", async () => {
  await using place = await scratch();
  await chmod(place.file, 0o602);
  expect(refusal(place.file)).toBe(
    `${place.file} (owner ${own.uid}, group ${process.getgid?.()}, mode 0602) is writable by others: chmod go-w ${place.file}`,
  );
  await chmod(place.file, 0o600);
  await chmod(place.folder, 0o777);
  expect(refusal(place.file)).toContain(
    `${place.folder} (owner ${own.uid}, group ${process.getgid?.()}, mode 0777) is writable by others, who could exchange ${place.file}: chmod go-w ${place.folder}`,
  );
  expect(refusal(join(place.folder, "new"))).toContain("is writable by others");
});

test.runIf(isRoot)(
  "what belongs to another user is refused, be it the file or a directory above it",
  async () => {
    await using place = await scratch();
    await chown(place.file, STRANGER, 0);
    expect(refusal(place.file)).toBe(
      `${place.file} (owner ${STRANGER}, group 0, mode 0600) belongs to another user: chown 0 ${place.file}`,
    );
    await chown(place.file, 0, 0);
    await chown(place.folder, STRANGER, 0);
    expect(refusal(place.file)).toContain(
      `belongs to another user, who could exchange ${place.file}: chown 0`,
    );
  },
);

test.runIf(isRoot)(
  "of a sticky directory that all may write, what is one's own is trusted and nothing else",
  async () => {
    await using place = await scratch();
    await chmod(place.folder, 0o1777);
    expect(refusal(place.file)).toBe("");
    expect(refusal(join(place.folder, "new"))).toBe("");
    await chown(place.file, STRANGER, 0);
    expect(refusal(place.file)).toContain("is writable by others");
    await chown(place.folder, STRANGER, 0);
    await chown(place.file, 0, 0);
    expect(refusal(place.file)).toContain("belongs to another user");
  },
);

test("symbolic links are followed only through trusted directories", async () => {
  await using place = await scratch();
  const name = join(place.path, "link");
  await symlink("folder/../folder/file", name);
  expect(refusal(name)).toBe("");
  await chmod(place.folder, 0o777);
  expect(refusal(name)).toContain(`${place.folder} (`);
  await chmod(place.folder, 0o755);
  await symlink(join(place.path, "circle"), join(place.path, "circle"));
  expect(refusal(join(place.path, "circle"))).toContain("too many symbolic links");
});

test("a secret of Kubernetes is trusted: links in a sticky mount of root, readable by the pod's group", async () => {
  await using place = await scratch();
  await mkdir(join(place.folder, "..2026_11_22"), { mode: 0o755 });
  await writeFile(join(place.folder, "..2026_11_22", "password"), "secret", { mode: 0o440 });
  await symlink("..2026_11_22", join(place.folder, "..data"));
  await symlink("..data/password", join(place.folder, "password"));
  await chmod(place.folder, 0o3777);
  expect(refusal(join(place.folder, "password"))).toBe("");
});

test.runIf(isRoot)(
  "a secret of Compose is trusted: another user's file, mounted for reading alone",
  async () => {
    await using place = await scratch();
    await chown(place.file, STRANGER, 0);
    const mount = (options: string): TrustContext => ({
      ...own,
      mountinfo: [
        "1 0 8:1 / / rw,relatime - ext4 /dev/sda1 rw",
        `2 1 8:1 /x ${place.file.replaceAll("/", "\\057")} ${options} - ext4 /dev/sda1 rw`,
      ].join("\n"),
    });
    expect(refusal(place.file, mount("ro,relatime"))).toBe("");
    expect(refusal(place.file, mount("rw,relatime"))).toContain("belongs to another user");
    await chmod(place.file, 0o666);
    expect(refusal(place.file, mount("ro,relatime"))).toContain("is writable by others");
  },
);

test("a group without other users may write if the system's files list all users", async () => {
  await using place = await scratch();
  await chmod(place.folder, 0o2775);
  const gid = process.getgid?.();
  const me = `me:x:${own.uid}:${gid}::/:/bin/sh`;
  const context = { ...own, passwd: me, group: `ours:x:${gid}:me,root`, nsswitch: "" };
  const root = "root:x:0:0::/:/bin/sh";
  const refused = (change: Partial<TrustContext>): boolean =>
    refusal(place.file, { ...context, ...change }) !== "";
  expect(refused({ passwd: `${me}\n${root}` })).toBe(false);
  // A number that a container was given.
  expect(refused({ passwd: "", group: "" })).toBe(false);
  expect(refused({ group: `ours:x:${gid}:me,eve` })).toBe(true);
  expect(refused({ group: "", passwd: `${me}\neve:x:54321:${gid}::/:/bin/sh` })).toBe(true);
  const sources = (group: string) => ({
    passwd: me,
    group: "",
    nsswitch: `passwd: files systemd\ngroup: ${group}`,
  });
  expect(refused(sources("files [SUCCESS=merge action] systemd # sss"))).toBe(false);
  expect(refused(sources("files sss"))).toBe(true);
  // The files of macOS list no people.
  expect(refused({ nsswitch: trustContext("darwin").nsswitch })).toBe(true);
});

test("an open descriptor of a shell is read, whatever its name is", () => {
  const script = `import { readTrustedFile } from ${JSON.stringify(join(process.cwd(), "src/lib/fs/trusted-path.ts"))};
    process.stdout.write(readTrustedFile(process.argv[1]));`;
  const command = 'exec "$0" --input-type=module -e "$1" <(printf secret)';
  expect(execFileSync("bash", ["-c", command, process.execPath, script], { encoding: "utf8" })).toBe(
    "secret",
  );
});

test("links and files that others may write are refused in a private directory", async () => {
  await using place = await scratch();
  const malicious = join(place.folder, "planted");
  expect(() => checkOwnEntry(place.file)).not.toThrow();
  expect(() => checkOwnEntry(join(place.folder, "missing"))).not.toThrow();
  await symlink(place.file, malicious);
  expect(() => checkOwnEntry(malicious)).toThrow(/planted \(owner .*\) is a symbolic link: rm /);
  await link(place.file, join(place.folder, "other"));
  await chmod(place.file, 0o646);
  expect(() => checkOwnEntry(join(place.folder, "other"))).toThrow("is writable by others");
});
