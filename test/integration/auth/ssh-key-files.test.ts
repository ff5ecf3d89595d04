// Compares with Debian's sshd: trusted files and valid accounts.
import { execFile } from "node:child_process";
import { chmod, chown, mkdir, rename, rm, symlink } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { expect, test } from "vitest";
import { KeyJudge } from "./key-judge.ts";

const run = promisify(execFile);
const NOBODY = 65_534;
/** A group that may have several users. */
const USERS = 100;
const GAMES = 60;

test("a file counts where sshd trusts it: by its owner, its modes and those of the directories above", async () => {
  await using judge = await KeyJudge.start();
  const { user, ssh, file, line } = judge;
  const move = (path: string): Promise<void> => rename(file, path);
  const cases: readonly (readonly [name: string, isLetIn: boolean, change: () => Promise<unknown>])[] = [
    ["as ssh-copy-id leaves it", true, async () => undefined],
    ["everyone may read", true, () => chmod(file, 0o644)],
    ["a group may write", false, () => chown(file, user.uid, USERS).then(() => chmod(file, 0o660))],
    ["everyone may write", false, () => chmod(file, 0o602)],
    ["not even the user may read", false, () => chmod(file, 0)],
    ["only others may read", false, () => chmod(file, 0o044)],
    ["of root, everyone may read", true, () => chown(file, 0, 0).then(() => chmod(file, 0o644))],
    ["of root, the group may read", true, () => chown(file, 0, user.gid).then(() => chmod(file, 0o640))],
    ["of root, nobody may read", false, () => chown(file, 0, 0)],
    [
      "of root, a further group of the user's may read",
      true,
      async () => {
        await user.modify("--append", "--groups", String(GAMES));
        await chown(file, 0, GAMES);
        await chmod(file, 0o640);
      },
    ],
    [
      "a link to what root alone may read",
      false,
      async () => {
        await mkdir(`${user.home}/private`, { mode: 0o700 });
        await chown(`${user.home}/private`, 0, 0);
        await move(`${user.home}/private/keys`);
        await symlink("../private/keys", file);
      },
    ],
    ["of somebody else", false, () => chown(file, NOBODY, NOBODY).then(() => chmod(file, 0o644))],
    [".ssh: everyone may enter", true, () => chmod(ssh, 0o755)],
    [".ssh: a group may write", false, () => chown(ssh, user.uid, USERS).then(() => chmod(ssh, 0o770))],
    [".ssh: everyone may write, and sticky", false, () => chmod(ssh, 0o1777)],
    [".ssh: nobody may enter", false, () => chmod(ssh, 0o600)],
    [".ssh: of root", true, () => chown(ssh, 0, 0).then(() => chmod(ssh, 0o755))],
    [".ssh: of root, nobody may enter", false, () => chown(ssh, 0, 0)],
    [".ssh: of somebody else", false, () => chown(ssh, NOBODY, NOBODY).then(() => chmod(ssh, 0o755))],
    [
      "home: a group may write",
      false,
      () => chown(user.home, user.uid, USERS).then(() => chmod(user.home, 0o775)),
    ],
    ["home: everyone may write", false, () => chmod(user.home, 0o757)],
    ["home: of root", true, () => chown(user.home, 0, 0)],
    ["home: of somebody else", false, () => chown(user.home, NOBODY, NOBODY)],
    ["no file", false, () => rm(file)],
    ["no home", false, () => rm(user.home, { recursive: true })],
    ["authorized_keys2", true, () => move(`${file}2`)],
    ["authorized_keys3", false, () => move(`${file}3`)],
    ["a link in the home", true, () => move(`${user.home}/keys`).then(() => symlink("../keys", file))],
    [
      "a link to where everyone may write",
      false,
      async () => {
        await mkdir(`${user.home}/open`);
        await chmod(`${user.home}/open`, 0o777);
        await move(`${user.home}/open/keys`);
        await symlink("../open/keys", file);
      },
    ],
    [
      "a link out of the home",
      false,
      () => move(`${user.home}.keys`).then(() => symlink("../../home.keys", file)),
    ],
    [
      ".ssh is a link in the home",
      true,
      () => rename(ssh, `${user.home}/dotssh`).then(() => symlink("dotssh", ssh)),
    ],
    ["a link to nothing", false, () => rm(file).then(() => symlink("nothing", file))],
    ["a link to itself", false, () => rm(file).then(() => symlink("authorized_keys", file))],
    ["a directory", false, () => rm(file).then(() => mkdir(file))],
    ["a pipe", false, () => rm(file).then(() => run("mkfifo", [file]))],
    ["a device", false, () => rm(file).then(() => symlink("/dev/null", file))],
  ];
  const verdicts: object[] = [];
  for (const [name, , change] of cases) {
    await judge.install(line);
    await change();
    verdicts.push({ name, ...(await judge.judge()) });
  }
  expect(verdicts).toEqual(cases.map(([name, isLetIn]) => ({ name, sshd: isLetIn, ttyhq: isLetIn })));
});

test("the first of two files that says something decides", async () => {
  await using judge = await KeyJudge.start();
  const { line } = judge;
  const firsts = [
    ['command="echo no" ', false],
    ['from="10.0.0.1" ', true],
  ] as const;
  for (const [options, isLetIn] of firsts) {
    await judge.install(`${options}${line}\n`);
    await judge.write(join(judge.ssh, "authorized_keys2"), line);
    expect(await judge.judge()).toEqual({ sshd: isLetIn, ttyhq: isLetIn });
  }
});

test("an account that has ended, or has no shell, gets no terminal; one with a locked password does", async () => {
  await using judge = await KeyJudge.start("pam");
  const { user, line } = judge;
  await judge.install(line);
  const changes = [
    [["--password", "!"], true],
    [["--expiredate", "1"], false],
    [["--expiredate", "2099-01-01"], true],
    [["--expiredate", ""], true],
    [["--shell", "/usr/sbin/nologin"], false],
    [["--shell", "/bin/false"], false],
    [["--shell", "/bin/no-such-shell"], false],
    [["--shell", "/bin/bash"], true],
  ] as const;
  for (const [change, isLetIn] of changes) {
    await user.modify(...change);
    expect({ change, ...(await judge.judge()) }).toEqual({ change, sshd: isLetIn, ttyhq: isLetIn });
  }
});
