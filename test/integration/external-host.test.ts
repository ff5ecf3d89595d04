// A session host that others start, for example in a separate container (contract 9).
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempDisposable, readdir, readFile, rm, stat, symlink } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { eventually } from "../../packages/testing/src/wait.ts";
import { withDeadline } from "../../src/lib/async/deadline.ts";
import { isRunning } from "../../src/sessions/pty/process-tree.ts";
import { ttyhq } from "./harness/command.ts";
import { Rest } from "./harness/rest.ts";
import { MAIN, TestServer } from "./harness/test-server.ts";

const ARGS = [
  "--session-host",
  "external",
  "--no-auth",
  "--rate-limit-api",
  "0",
  "--rate-limit-sessions",
  "0",
];
const START_TIMEOUT_MS = 60_000;

/** A container's program; disposal ends it. */
class Host implements AsyncDisposable {
  readonly #process: ChildProcess;

  private constructor(process: ChildProcess) {
    this.#process = process;
  }

  static async start(controlDir: string, ...args: readonly string[]): Promise<Host> {
    const child = spawn(process.execPath, [MAIN, "session-host", "--control-dir", controlDir, ...args], {
      stdio: ["ignore", "pipe", "ignore"],
    });
    await withDeadline(once(child.stdout, "data"), START_TIMEOUT_MS, "the start of the session host");
    return new Host(child);
  }

  get pid(): number {
    return this.#process.pid ?? 0;
  }

  async end(signal: NodeJS.Signals): Promise<void> {
    if (this.#process.exitCode !== null || this.#process.signalCode !== null) return;
    const ended = once(this.#process, "exit");
    this.#process.kill(signal);
    await withDeadline(ended, START_TIMEOUT_MS, "the end of the session host");
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.end("SIGTERM");
  }
}

function controlDir() {
  return mkdtempDisposable(join(tmpdir(), "ttyhq-external-"));
}

test("a server that started first waits for its session host, and leaves it running when it ends", async () => {
  await using directory = await controlDir();
  const starting = TestServer.start({ asProcess: true, args: ARGS, controlDir: directory.path });
  await using host = await Host.start(directory.path);
  await using server = await starting;
  expect(await server.hostPid()).toBe(host.pid);
  const rest = new Rest(server);
  expect((await rest.get("/readyz")).status).toBe(200);

  const { id } = await rest.run("echo here; cat");
  await rest.shows(id, /here/);
  expect(await server.kill("SIGTERM")).toEqual({ code: 0, signal: null });
  expect(isRunning(host.pid)).toBe(true);
  await server.restart();
  expect(await rest.record(id)).toMatchObject({ status: "running" });
  expect(await server.hostPid()).toBe(host.pid);
});

test("a server that lost its session host stays up, is not ready, starts no host, and uses the next one", async () => {
  await using directory = await controlDir();
  await using first = await Host.start(directory.path);
  await using server = await TestServer.start({ asProcess: true, args: ARGS, controlDir: directory.path });
  const rest = new Rest(server);
  await first.end("SIGKILL");
  const refusal = await eventually(async () => {
    const answer = await rest.get("/api/ready");
    return answer.status === 503 ? answer : undefined;
  }, "a server that is not ready");
  expect(refusal.json).toMatchObject({ code: "host_unreachable", details: { status: "no_session_host" } });
  expect((await rest.get("/livez")).status).toBe(200);
  await eventually(
    async () => server.log.includes("session host not found") || undefined,
    "a word of it in the log",
  );
  await expect(server.hostPid()).rejects.toThrow("no session host answers");

  await using second = await Host.start(directory.path);
  await eventually(async () => ((await rest.get("/readyz")).status === 200 ? true : undefined), "readiness");
  expect(await server.hostPid()).toBe(second.pid);
  const { id } = await rest.run("echo again; cat");
  await rest.shows(id, /again/);
});

test("a server does not mistake a link to its own socket for that of its session host", async () => {
  await using directory = await controlDir();
  await using sharedDir = await controlDir();
  const socket = join(sharedDir.path, "host.sock");
  const place = ["--host-socket", socket];
  await using first = await Host.start(directory.path, ...place);
  await using server = await TestServer.start({
    asProcess: true,
    args: [...ARGS, ...place],
    controlDir: directory.path,
  });
  const rest = new Rest(server);
  await first.end("SIGKILL");
  await rm(socket);
  await symlink(join(directory.path, "server.sock"), socket);
  const ready = async () => (await rest.get("/readyz")).status;
  await eventually(
    async () => server.log.includes("is not a socket") || undefined,
    "a word of it in the log",
  );
  expect(await ready()).toBe(503);

  await using second = await Host.start(directory.path, ...place);
  await eventually(async () => ((await ready()) === 200 ? true : undefined), "readiness");
  const { id, pid } = await rest.run("echo again; cat");
  await rest.shows(id, /again/);
  expect(await readFile(`/proc/${pid}/stat`, "utf8")).toContain(` ${second.pid} `);
});

test("`ttyhq health --session-host` asks the session host, whatever the server does", async () => {
  await using directory = await controlDir();
  const probe = ["health", "--session-host", "--control-dir", directory.path];
  await using host = await Host.start(directory.path);
  await using server = await TestServer.start({ asProcess: true, args: ARGS, controlDir: directory.path });
  server.signal("SIGSTOP");
  expect(await ttyhq([...probe, "--timeout", "25"])).toEqual({ code: 0, stdout: "", stderr: "" });
  expect(await ttyhq(["health", "--timeout", "1", "--control-dir", directory.path])).toMatchObject({
    code: 1,
  });
  server.signal("SIGCONT");
  process.kill(host.pid, "SIGSTOP");
  expect(await ttyhq([...probe, "--timeout", "1"])).toMatchObject({ code: 1 });
  process.kill(host.pid, "SIGCONT");
  await host.end("SIGTERM");
  expect(await ttyhq(probe)).toMatchObject({ code: 1, stderr: expect.stringContaining("no answer") });
  expect(await ttyhq(["health", "--session-host", "--url", server.url])).toMatchObject({
    stderr: expect.stringContaining("--session-host is asked by its control directory"),
  });
});

test("a server and its session host share the socket's folder alone: each keeps its own files", async () => {
  await using own = await controlDir();
  await using hosts = await controlDir();
  await using sharedDir = await controlDir();
  const socket = join(sharedDir.path, "host", "host.sock");
  await using host = await Host.start(hosts.path, "--host-socket", socket);
  await using server = await TestServer.start({
    asProcess: true,
    args: [...ARGS, "--host-socket", socket],
    controlDir: own.path,
  });
  const rest = new Rest(server);
  const { id } = await rest.run("echo apart; cat");
  await rest.shows(id, /apart/);
  expect(await server.hostPid()).toBe(host.pid);
  expect(await readdir(join(own.path, "sessions"))).toEqual([]);
  expect(await readdir(join(hosts.path, "sessions"))).toEqual([id]);
  expect(await readdir(hosts.path)).not.toContain("audit.log");
  expect((await stat(join(sharedDir.path, "host"))).mode & 0o777).toBe(0o700);
  // The commands find it in either directory.
  expect((await ttyhq(["ls", "--json", "--control-dir", hosts.path])).stdout).toContain(id);
  expect((await ttyhq(["health", "--session-host", "--control-dir", own.path])).code).toBe(0);
});
