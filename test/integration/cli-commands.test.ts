// The commands that need no terminal, on real sessions.
import { execFile } from "node:child_process";
import { createHash } from "node:crypto";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { expect, test } from "vitest";
import { SessionRecord } from "../../src/protocol/schemas/session.ts";
import { Installation } from "./harness/installation.ts";
import { MAIN, TestServer } from "./harness/test-server.ts";
import { Tmux } from "./harness/tmux.ts";

async function sessionsOf(installation: Installation): Promise<readonly SessionRecord[]> {
  const { stdout } = await installation.ttyhq(["ls", "--json"]);
  return SessionRecord.array().parse(JSON.parse(stdout));
}

test("the first run starts a session host, later ones find it", async () => {
  await using installation = await Installation.make();
  expect(await installation.hostPid()).toBeUndefined();
  expect(await installation.ttyhq(["run", "--", "echo", "hi"])).toEqual({
    exitCode: 0,
    stdout: "hi\r\n",
    stderr: "",
  });
  const pid = await installation.hostPid();
  expect(pid).toBeGreaterThan(1);
  await installation.ttyhq(["run", "--", "true"]);
  expect(await installation.hostPid()).toBe(pid);
  expect((await sessionsOf(installation)).map(({ command }) => command)).toEqual([["true"], ["echo", "hi"]]);
});

test("a program that is not there is told and makes no session", async () => {
  await using installation = await Installation.make();
  const { exitCode, stderr } = await installation.ttyhq(["run", "--", "no-such-program"]);
  expect(exitCode).toBe(1);
  expect(stderr).toMatch(/^ttyhq: no program no-such-program/);
  expect(await sessionsOf(installation)).toEqual([]);
});

test("kill ends by name and by the beginning of an id, then removes", async () => {
  await using installation = await Installation.make();
  const started = await installation.ttyhq(["run", "-d", "--json", "--name", "one", "--", "sleep", "1000"]);
  const { id, pid = 0 } = SessionRecord.parse(JSON.parse(started.stdout));
  await installation.ttyhq(["run", "-d", "--name", "two", "--", "sleep", "1000"]);
  expect(await installation.ttyhq(["kill", "two", "three", id.slice(0, 6)])).toMatchObject({
    exitCode: 1,
    stdout: expect.stringMatching(/^[\w-]+ ended with 129\n[\w-]+ ended with 129\n$/),
    stderr: 'ttyhq: no session "three"\n',
  });
  expect(() => process.kill(pid, 0)).toThrow("ESRCH");
  expect((await sessionsOf(installation)).map(({ status }) => status)).toEqual(["exited", "exited"]);
  const removed = await installation.ttyhq(["kill", "--json", id]);
  expect(JSON.parse(removed.stdout)).toEqual([{ id, status: "removed" }]);
  expect(await sessionsOf(installation)).toHaveLength(1);
});

test("logs prints the output of a session, follows it to its end, and finds it by its new name", async () => {
  await using installation = await Installation.make();
  const fifo = join(installation.directory, "fifo");
  await promisify(execFile)("mkfifo", [fifo]);
  const script = `echo one; read -t 60 -r line < ${fifo}; echo two`;
  await installation.ttyhq(["run", "-d", "--name", "first", "--", "bash", "-c", script]);
  expect(await installation.ttyhq(["rename", "first", "second"])).toMatchObject({
    exitCode: 0,
    stdout: expect.stringMatching(/^[\w-]+ is second\n$/),
  });
  const followed = installation.ttyhq(["logs", "--follow", "second"]);
  await writeFile(fifo, "go\n");
  expect(await followed).toEqual({ exitCode: 0, stdout: "one\r\ntwo\r\n", stderr: "" });
  expect((await installation.ttyhq(["logs", "second"])).stdout).toBe("one\r\ntwo\r\n");
});

test("kill --signal sends that and nothing else", async () => {
  await using installation = await Installation.make();
  await using terminal = await Tmux.open({ cols: 80, rows: 24 }, installation.env);
  const program = "trap 'echo usr1' USR1; echo ready; while :; do sleep 0.05; done";
  await terminal.enter(`$TTYHQ run --name demo -- bash -c "${program}"`);
  await terminal.shows(/^ready$/m);
  const { exitCode, stdout } = await installation.ttyhq(["kill", "--signal", "usr1", "demo"]);
  expect({ exitCode, stdout }).toMatchObject({
    exitCode: 0,
    stdout: expect.stringContaining("SIGUSR1 sent to"),
  });
  await terminal.shows(/^usr1$/m);
});

test("status and health tell what runs without a server", async () => {
  await using installation = await Installation.make();
  await installation.ttyhq(["run", "-d", "--", "sleep", "1000"]);
  const alone = await installation.ttyhq(["status"]);
  expect(alone).toMatchObject({ exitCode: 0, stderr: "" });
  expect(alone.stdout).toMatch(
    /^server {13}not running\nsession host {7}version .*\ncontrol directory {2}\/.*\nsessions {11}1 running\n$/,
  );
  expect(await installation.ttyhq(["health"])).toEqual({ exitCode: 0, stdout: "", stderr: "" });
});

test("status and health tell how the server is, also when it is gone", async () => {
  await using server = await TestServer.start();
  const installation = new Installation(server.controlDir);
  expect(JSON.parse((await installation.ttyhq(["status", "--json"])).stdout)).toMatchObject({
    controlDir: installation.directory,
    server: { status: "healthy", mode: "standalone", sessions: 0 },
    sessionHost: { mode: "session-host", sessions: 0 },
  });
  expect(await installation.ttyhq(["health"])).toEqual({ exitCode: 0, stdout: "", stderr: "" });
  expect((await installation.ttyhq(["health", "--url", server.url])).exitCode).toBe(0);
  await server.kill();
  // Its socket is still there: whoever probes the server must not hear that the host is well.
  expect(await installation.ttyhq(["health"])).toMatchObject({
    exitCode: 1,
    stderr: expect.stringMatching(/^ttyhq: no answer/),
  });
  expect((await installation.ttyhq(["health", "--url", server.url])).exitCode).toBe(1);
});

test("a recording is played as it went, from a session and from its file", async () => {
  await using installation = await Installation.make();
  await installation.ttyhq(["run", "--name", "demo", "--", "sh", "-c", "echo one; sleep 0.5; echo héllo"]);
  const started = performance.now();
  const played = await installation.ttyhq(["play", "demo"]);
  expect(played).toEqual({ exitCode: 0, stdout: "one\r\nhéllo\r\n", stderr: "" });
  expect(performance.now() - started).toBeGreaterThan(450);
  const [session] = await sessionsOf(installation);
  const file = join(installation.directory, "sessions", session?.id ?? "", "recording.cast");
  expect((await installation.ttyhq(["play", "--speed", "100", file])).stdout).toBe(played.stdout);
});

test("ctrl-c stops a recording and gives the terminal back", async () => {
  await using installation = await Installation.make();
  await using terminal = await Tmux.open({ cols: 80, rows: 24 }, installation.env);
  const cast = join(installation.directory, "long.cast");
  const header = '{"version":2,"width":80,"height":24}';
  await terminal.enter(
    `printf '%s\\n' '${header}' '[0, "o", "begun"]' '[600, "o", "over"]' > ${cast}; clear`,
  );
  await terminal.enter(`$TTYHQ play ${cast}; echo " code $?"`);
  await terminal.shows(/^begun$/m);
  await terminal.press("C-c");
  await terminal.shows("begun code 0");
});

test("what flows through a terminal arrives exactly, however fast", async () => {
  await using installation = await Installation.make();
  const program = "stty raw -echo; head -c 8000000 /dev/urandom | tee random.bin";
  const command = [
    "run",
    "--cwd",
    installation.directory,
    "--",
    "sh",
    "-c",
    `${program}; sha256sum < random.bin > sum`,
  ];
  const client = await installation.binary(command);
  const sum = await installation.ttyhq(["run", "--", "cat", join(installation.directory, "sum")]);
  expect(sum.stdout.slice(0, 64)).toBe(createHash("sha256").update(client).digest("hex"));
});

test("login-link prints a link that logs in once", async () => {
  await using server = await TestServer.start({ args: ["--login-link"] });
  const installation = new Installation(server.controlDir);
  const { exitCode, stdout, stderr } = await installation.ttyhq(["login-link"]);
  expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: "" });
  const [, ticket = ""] = stdout.trim().split("#login=");
  const { token } = await server.client().token({ ticket });
  expect(await server.client(token).list()).toEqual([]);
  await expect(server.client().token({ ticket })).rejects.toMatchObject({ status: 401 });
  const listed = await installation.ttyhq(["ls", "--json", "--url", server.url]);
  expect(listed).toMatchObject({ exitCode: 1, stderr: expect.stringContaining("ttyhq: ") });
});

/** The bundles that a command loads, as Node says. */
async function bundlesOf(args: readonly string[]): Promise<readonly string[]> {
  const env = { ...process.env, NODE_DEBUG: "module" };
  const { stderr } = await promisify(execFile)(process.execPath, [MAIN, ...args], { env });
  return [...stderr.matchAll(/ load "[^"]*\/dist\/([\w-]+)\.js"/g)].map(([, name = ""]) => name);
}

test("a short command loads what it uses, and nothing of the server", async () => {
  await using server = await TestServer.start();
  expect(await bundlesOf(["--version"])).toEqual(["main", "rolldown-runtime", "command-line"]);
  const bundles = await bundlesOf(["ls", "--control-dir", server.controlDir]);
  expect(bundles).toEqual(expect.arrayContaining(["command-line", "client", "ls"]));
  for (const name of ["server", "config", "options", "log"]) expect(bundles).not.toContain(name);
});
