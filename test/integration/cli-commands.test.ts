// Commands without a terminal, on real sessions.
import { execFile, spawn } from "node:child_process";
import { createHash } from "node:crypto";
import { once } from "node:events";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { expect, test } from "vitest";
import { endpoints } from "../../src/protocol/endpoints/endpoints.ts";
import { Installation } from "./harness/installation.ts";
import { passwordServer } from "./harness/password-server.ts";
import { PATIENCE_MS } from "./harness/patience.ts";
import { PrintedSession } from "./harness/printed-session.ts";
import { TestFleet } from "./harness/test-fleet.ts";
import { MAIN, TestServer } from "./harness/test-server.ts";
import { Tmux } from "./harness/tmux.ts";

async function sessionsOf(installation: Installation): Promise<readonly PrintedSession[]> {
  const { stdout } = await installation.ttyhq(["ls", "--json"]);
  return PrintedSession.array().parse(JSON.parse(stdout));
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

test("a session is printed as JSON with one name for each field", async () => {
  await using installation = await Installation.make();
  const started = await installation.ttyhq(["run", "-d", "--json", "--name", "one", "--", "sleep", "1000"]);
  const [listed] = JSON.parse((await installation.ttyhq(["ls", "--json"])).stdout);
  const renamed = JSON.parse((await installation.ttyhq(["rename", "--json", "one", "two"])).stdout);
  for (const record of [JSON.parse(started.stdout), listed, renamed]) {
    expect(Object.keys(record)).toEqual(expect.arrayContaining(["id", "created", "cwd"]));
    for (const second of ["sessionId", "startedAt", "workingDir"]) expect(record).not.toHaveProperty(second);
  }
});

test("run --machine runs a program on a machine of the HQ, and names those that there are", async () => {
  await using fleet = await TestFleet.start({ remotes: 2 });
  const installation = new Installation(fleet.hq.controlDir);
  const command = ["run", "--name", "there", "--machine", "worker-2", "--", "sh", "-c", "echo hello; exit 3"];
  expect(await installation.ttyhq(command)).toEqual({ exitCode: 3, stdout: "hello\r\n", stderr: "" });
  expect(await sessionsOf(installation)).toMatchObject([{ name: "there", source: "worker-2" }]);
  expect(await installation.ttyhq(["run", "--machine", "worker-9", "--", "true"])).toEqual({
    ...{ exitCode: 1, stdout: "" },
    stderr: expect.stringMatching(/^ttyhq: no machine "worker-9"; there are worker-[12], worker-[12]\n$/),
  });
});

test("messages have colour on a terminal only, and not where NO_COLOR is set", async () => {
  await using installation = await Installation.make();
  await using terminal = await Tmux.open({ cols: 80, rows: 24 }, installation.env);
  await terminal.enter(`unset NO_COLOR FORCE_COLOR; cd ${installation.directory}; clear`);
  const lines = ["$TTYHQ logs none", "NO_COLOR=1 $TTYHQ logs none", "$TTYHQ logs none 2> file; cat -v file"];
  // As one line, because input during a command would be echoed into its message.
  await terminal.enter(lines.join("; "));
  await expect.poll(async () => (await terminal.screen()).match(/^ttyhq: no /gm)).toHaveLength(3);
  const coloured = await terminal.colours();
  expect(coloured.split("\x1b[31mttyhq:\x1b[39m no ")).toHaveLength(2);
  expect(coloured.match(/^ttyhq: no /gm)).toHaveLength(2);
});

test("a link that share prints opens the session, and no other one", async () => {
  await using server = await TestServer.start({ args: ["--login-link"] });
  const installation = new Installation(server.controlDir);
  const started = await installation.ttyhq(["run", "-d", "--json", "--name", "shown", "--", "sleep", "1000"]);
  const { id } = PrintedSession.parse(JSON.parse(started.stdout));
  await installation.ttyhq(["run", "-d", "--", "sleep", "1000"]);
  const { exitCode, stdout, stderr } = await installation.ttyhq(["share", "shown"]);
  expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: "" });
  const guest = server.client(new URL(stdout.trim()).hash.slice("#share=".length));
  expect(await guest.list()).toMatchObject([{ id, access: "view" }]);
  const typing = await installation.ttyhq(["share", "shown", "--type", "--expires", "2m", "--json"]);
  expect(JSON.parse(typing.stdout)).toMatchObject({ sessionId: id, mode: "type" });
  const plain = await installation.ttyhq(["share", "shown", "--json"]);
  for (const [share, lifetimeS] of [
    [JSON.parse(typing.stdout), 120],
    [JSON.parse(plain.stdout), 3_600],
  ]) {
    // Links end at whole seconds.
    const seconds = Math.round((Date.parse(share.expiresAt) - Date.parse(share.createdAt)) / 1000);
    expect([lifetimeS - 1, lifetimeS]).toContain(seconds);
  }
});

test("a missing program is reported and creates no session", async () => {
  await using installation = await Installation.make();
  const { exitCode, stderr } = await installation.ttyhq(["run", "--", "no-such-program"]);
  expect(exitCode).toBe(1);
  expect(stderr).toMatch(/^ttyhq: no program no-such-program/);
  expect(await sessionsOf(installation)).toEqual([]);
});

test("kill ends by name and by the beginning of an id, then removes", async () => {
  await using installation = await Installation.make();
  const started = await installation.ttyhq(["run", "-d", "--json", "--name", "one", "--", "sleep", "1000"]);
  const { id, pid = 0 } = PrintedSession.parse(JSON.parse(started.stdout));
  await installation.ttyhq(["run", "-d", "--name", "two", "--", "sleep", "1000"]);
  expect(await installation.ttyhq(["kill", "two", "three", id.slice(0, 6)])).toMatchObject({
    exitCode: 1,
    stdout: expect.stringMatching(/^[\w-]+ ended with 129\n[\w-]+ ended with 129\n$/),
    stderr: 'ttyhq: no session "three"\n',
  });
  expect(() => process.kill(pid, 0)).toThrow("ESRCH");
  expect((await sessionsOf(installation)).map(({ status }) => status)).toEqual(["exited", "exited"]);
  expect((await installation.ttyhq(["run", "-d", "--name", "four", "--", "sleep", "1000"])).exitCode).toBe(0);
  const twice = await installation.ttyhq(["kill", "four", "four"]);
  expect(twice.stdout).toMatch(/^(?<id>[\w-]+) ended with .*\n\k<id> ended with .*\n$/);
  await installation.ttyhq(["kill", "four"]);
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

/** Runs a line of bash that finds the command line as `$TTYHQ`. */
async function shell(line: string, { env }: Installation): Promise<{ stdout: string; stderr: string }> {
  const options = { env: { ...process.env, ...env }, timeout: PATIENCE_MS };
  return await promisify(execFile)("bash", ["-c", line], options);
}

test("a slow reader of a pipe gets the end of the output", async () => {
  await using installation = await Installation.make();
  await installation.ttyhq(["run", "--name", "numbers", "--", "seq", "60000"]);
  // The shell reads byte by byte.
  const line = "$TTYHQ logs numbers | { while read -r line; do last=$line; done; echo $last; }";
  expect(await shell(line, installation)).toEqual({ stdout: "60000\r\n", stderr: "" });
});

test("run --cwd names a directory relative to that of the command", async () => {
  await using installation = await Installation.make();
  const run = (cwd: string) => shell(`cd / && $TTYHQ run --cwd ${cwd} -- pwd`, installation);
  expect((await run("usr")).stdout).toBe("/usr\r\n");
  expect((await run(".")).stdout).toBe("/\r\n");
  expect((await run("'~'")).stdout).toBe(
    (await shell("cd && pwd -P", installation)).stdout.replace("\n", "\r\n"),
  );
});

test("a command whose reader leaves the pipe ends quietly, and the program goes on", async () => {
  await using installation = await Installation.make();
  const program = "'seq 60000; while :; do seq 100; sleep 0.1; done'";
  const line = (command: string): string => `$TTYHQ ${command} | head -n 1; echo \${PIPESTATUS[0]}`;
  const first = { stdout: "1\r\n0\n", stderr: "" };
  const ran = await shell(line(`run --quiet --name numbers -- bash -c ${program}`), installation);
  expect(ran).toEqual(first);
  expect(await shell(line("logs numbers"), installation)).toEqual(first);
  expect(await shell(line("logs --follow numbers"), installation)).toEqual(first);
  const { stdout } = await shell(line("attach --quiet numbers"), installation);
  expect(stdout).toMatch(/\n0\n$/);
  expect(await sessionsOf(installation)).toMatchObject([{ name: "numbers", status: "running" }]);
  const cast = join(installation.directory, "long.cast");
  const events = [0, 1, 2, 9_000].map((time) => JSON.stringify([time, "o", "1\r\n"]));
  await writeFile(cast, [JSON.stringify({ version: 2, width: 80, height: 24 }), ...events, ""].join("\n"));
  expect(await shell(line(`play ${cast}`), installation)).toEqual(first);
});

test.each(["run", "attach"])(
  "the first signal ends %s whose reader has stopped reading, and it says how to come back",
  async (how) => {
    await using installation = await Installation.make();
    const flood = ["sh", "-c", "echo ready; read -r line; yes | head -c 9000000; exec sleep 1000"];
    if (how === "attach") await installation.ttyhq(["run", "-d", "--name", "flood", "--", ...flood]);
    const args = how === "run" ? ["--name", "flood", "--", ...flood] : ["flood"];
    const env = { ...process.env, ...installation.env };
    const child = spawn(process.execPath, [MAIN, how, ...args], { env });
    const [stderr, exit] = [child.stderr.toArray(), once(child, "exit")];
    await once(child.stdout, "data");
    child.stdout.pause();
    child.stdin.write("go\n");
    const recorded = async () => (await sessionsOf(installation))[0]?.outputBytes;
    await expect.poll(recorded, { timeout: PATIENCE_MS }).toBeGreaterThan(9_000_000);
    child.kill("SIGTERM");
    expect(await exit).toEqual([null, "SIGTERM"]);
    expect((await stderr).join("")).toContain("[flood keeps running; back to it with: ttyhq attach ");
    expect(await sessionsOf(installation)).toMatchObject([{ name: "flood", status: "running" }]);
  },
);

test("logs --follow reports that the server refuses the connection from now on", async () => {
  await using server = await passwordServer("apart");
  const installation = new Installation(server.controlDir);
  await installation.ttyhq(["run", "-d", "--name", "one", "--", "sh", "-c", "echo hi; exec sleep 1000"]);
  const granted = ["--name", "ci", "--scope", "sessions:view", "--ttl", "1h"];
  const { stdout: token } = await installation.ttyhq(["token", "create", ...granted]);
  const followed = spawn(process.execPath, [MAIN, "logs", "--follow", "one", "--url", server.url], {
    env: { ...process.env, TTYHQ_TOKEN: token.trim() },
  });
  const [stderr, exit] = [followed.stderr.toArray(), once(followed, "exit")];
  await once(followed.stdout, "data");
  await installation.ttyhq(["token", "revoke", "ci"]);
  expect(await exit).toEqual([1, null]);
  expect((await stderr).join("")).toBe(
    "ttyhq: login is over: log in again; `ttyhq login` prints a token for TTYHQ_TOKEN\n",
  );
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
  await using server = await TestServer.start({ asProcess: true });
  const installation = new Installation(server.controlDir);
  expect(JSON.parse((await installation.ttyhq(["status", "--json"])).stdout)).toMatchObject({
    controlDir: installation.directory,
    server: { status: "healthy", mode: "standalone", sessions: 0 },
    sessionHost: { mode: "session-host", sessions: 0 },
  });
  expect(await installation.ttyhq(["health"])).toEqual({ exitCode: 0, stdout: "", stderr: "" });
  expect((await installation.ttyhq(["health", "--url", server.url])).exitCode).toBe(0);
  await server.kill();
  // Its socket still exists: a probe of the server must not report a healthy host.
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

test("a recording on a terminal is paused by the space bar, and the arrow keys seek", async () => {
  await using installation = await Installation.make();
  await using terminal = await Tmux.open({ cols: 80, rows: 24 }, installation.env);
  const cast = join(installation.directory, "steps.cast");
  const header = '{"version":2,"width":80,"height":24}';
  const events = [0, 604, 608, 612].map((time) => `'[${time}, "o", "at-${time} "]'`).join(" ");
  await terminal.enter(`printf '%s\\n' '${header}' ${events} > ${cast}; clear`);
  await terminal.enter(`$TTYHQ play ${cast}; echo "code $?"`);
  await terminal.shows(/^at-0 *$/m);
  const press = async (key: string, times: number): Promise<void> =>
    await terminal.press(...Array.from({ length: times }, () => key));
  await terminal.press("Space");
  // To the start, however long it has played.
  await press("Left", 100);
  await press("Right", 121);
  await terminal.shows(/^at-0 at-604 *$/m);
  await press("Left", 1);
  await terminal.shows(/^at-0 *$/m);
  await press("Right", 2);
  await terminal.shows(/^at-0 at-604 at-608 *$/m);
  await press("Right", 1);
  await terminal.shows("at-0 at-604 at-608 at-612 code 0");
});

test("output through a terminal arrives exactly, at any speed", async () => {
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
  const logIn = () => server.client().call(endpoints.createToken, { body: { ticket } });
  const { token } = await logIn();
  expect(await server.client(token).list()).toEqual([]);
  await expect(logIn()).rejects.toMatchObject({ status: 401 });
  const listed = await installation.ttyhq(["ls", "--json", "--url", server.url]);
  expect(listed).toMatchObject({ exitCode: 1, stderr: expect.stringContaining("ttyhq: ") });
});

/** The bundles that a command loads, according to Node. */
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
