// Sessions and recordings after the death of the session host (contract 3, 9).
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { readFile, rm, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { eventually } from "../../packages/testing/src/wait.ts";
import type { SessionRecord } from "../../src/protocol/schemas/session.ts";
import { startTicks } from "../../src/sessions/pty/process-tree.ts";
import { asciinemaCat, parseCast } from "./harness/asciicast.ts";
import { Follower } from "./harness/follower.ts";
import { Rest } from "./harness/rest.ts";
import { gone, TestServer } from "./harness/test-server.ts";

let server: TestServer;
let rest: Rest;

beforeAll(async () => {
  server = await TestServer.start({ asProcess: true });
  rest = new Rest(server);
});
afterAll(() => server[Symbol.asyncDispose]());

const fileOf = (id: string, name: string): string => join(server.controlDir, "sessions", id, name);

/** Kills the host and waits until the next one answers, which the server starts by itself. */
async function loseHost(): Promise<void> {
  const pid = await server.hostPid();
  await server.killHost();
  await eventually(
    async () => ((await rest.get("/api/sessions")).status === 200 ? true : undefined),
    "a new host",
  );
  expect(await server.hostPid()).not.toBe(pid);
}

function expectLost(record: SessionRecord): void {
  expect(record).toMatchObject({ status: "exited", exitReason: "host_lost", exitCode: 129 });
  expect(Date.parse(record.exitedAt ?? "")).toBeGreaterThanOrEqual(Date.parse(record.created) - 1000);
}

/** Resolves when the host has written this output of the session. Viewers get it before its write begins. */
async function written(id: string, text: string): Promise<void> {
  const isThere = async (): Promise<true | undefined> =>
    (await readFile(fileOf(id, "output"), "utf8")).includes(text) ? true : undefined;
  await eventually(isThere, `"${text}" on the disk`);
}

async function castOnDisk(id: string): Promise<Uint8Array> {
  return eventually(async () => {
    try {
      return await readFile(fileOf(id, "recording.cast"));
    } catch {
      return undefined;
    }
  }, `the recording of ${id}`);
}

describe("kill -9 of the session host", () => {
  test("in a flood ends its sessions as lost, each with a whole recording, and new ones can be started", async () => {
    const flood = await rest.run("i=0; while :; do echo line $((i+=1)); done");
    const quiet = await rest.run("echo one; printf '\\303\\251'; cat");
    const ended = await rest.run("echo two; exit 3");
    await rest.ended(ended.id);
    await rest.shows(quiet.id, /\u00e9/);
    await rest.shows(flood.id, /line 5000\r\n/);
    await written(quiet.id, "\u00e9");
    await written(flood.id, "line 5000\r\n");
    // It follows the record of the exit, which comes after the news of it.
    await castOnDisk(ended.id);
    await loseHost();
    for (const { id } of [flood, quiet]) expectLost(await rest.record(id));
    expect(await rest.record(ended.id)).toMatchObject({ exitCode: 3, exitReason: "exit" });

    const casts = await Promise.all([flood, quiet, ended].map(({ id }) => castOnDisk(id)));
    const [floodText = "", quietText, endedText] = await asciinemaCat(casts);
    expect([quietText, endedText]).toEqual(["one\r\n\u00e9", "two\r\n"]);
    // Line by line up to the cut.
    const lines = floodText.split("\r\n");
    const last = lines.pop() ?? "";
    expect(lines).toEqual(lines.map((_, index) => `line ${index + 1}`));
    expect(`line ${lines.length + 1}\r`.startsWith(last)).toBe(true);
    expect(lines.length).toBeGreaterThanOrEqual(5000);
    const { outputBytes } = await rest.record(flood.id);
    expect((await rest.get(`/api/sessions/${flood.id}/output`)).text).toBe(floodText);
    expect(outputBytes).toBe(floodText.length);
    const { events } = parseCast(new TextDecoder().decode(casts[1]));
    expect(events.at(-1)?.slice(1)).toEqual(["m", "the session host was lost"]);

    const { id } = await rest.run("echo new; exit 4");
    expect(await rest.ended(id)).toMatchObject({ exitCode: 4 });
    expect((await rest.send("DELETE", `/api/sessions/${flood.id}`)).json).toMatchObject({
      status: "removed",
    });
  });

  test("is told to viewers as the exit, after all that was kept", async () => {
    const { id } = await rest.run("echo before; cat");
    using socket = server.connect();
    using follower = Follower.attach(socket, id);
    await follower.shows(/before\r\n/);
    await written(id, "before\r\n");
    await loseHost();
    expect(await follower.exit()).toMatchObject({ sessionId: id, exitCode: 129 });
    expect(follower.text).toBe("before\r\n");
  });

  test("ends programs that do not care about their terminal", async () => {
    const { id, pid } = await rest.run("trap '' HUP TERM; echo ready; while :; do sleep 1; done");
    await rest.shows(id, /ready/);
    await loseHost();
    expectLost(await rest.record(id));
    await gone(pid ?? 0);
  });

  test("leaves what an ended session had, and the recording is made if there was no time for it", async () => {
    const { id } = await rest.run("printf 'a\\033[31mb'; exit 0");
    await rest.ended(id);
    const before = await castOnDisk(id);
    await server.kill();
    await rm(fileOf(id, "recording.cast"));
    await server.killHost();
    await server.restart();
    expect(await rest.record(id)).toMatchObject({ exitCode: 0, exitReason: "exit" });
    expect(Buffer.compare(await castOnDisk(id), before)).toBe(0);
  });
});

describe("after a start, a session that was running when the host died", () => {
  /** The record on disk is changed to name another process as the session's program. */
  async function restartAs(id: string, change: object): Promise<void> {
    await server.kill();
    await server.killHost();
    const stored = JSON.parse(await readFile(fileOf(id, "session.json"), "utf8"));
    expect(stored).toMatchObject({ pid: expect.any(Number), startTicks: expect.any(Number) });
    await writeFile(fileOf(id, "session.json"), JSON.stringify({ ...stored, ...change }));
    await server.restart();
  }

  async function bystander(): Promise<ChildProcess> {
    const child = spawn("sleep", ["1000"], { detached: true });
    await once(child, "spawn");
    return child;
  }

  test("is lost, never running, when its pid belongs to another process by now, which is let alone", async () => {
    const child = await bystander();
    const { id } = await rest.create({ command: "cat" });
    await restartAs(id, { pid: child.pid });
    expectLost(await rest.record(id));
    await castOnDisk(id);
    expect(child.exitCode ?? child.signalCode).toBe(null);
    expect(startTicks(child.pid ?? 0)).toBeDefined();
    child.kill("SIGKILL");
  });

  test("is lost when nobody knows when its program was started, and nobody is killed", async () => {
    const child = await bystander();
    const { id } = await rest.create({ command: "cat" });
    await restartAs(id, { pid: child.pid, startTicks: undefined });
    expectLost(await rest.record(id));
    expect(startTicks(child.pid ?? 0)).toBeDefined();
    child.kill("SIGKILL");
  });
});

test("a directory without a session is not touched", async () => {
  const { id } = await rest.create({ command: "true" });
  await rest.ended(id);
  await castOnDisk(id);
  await server.kill();
  await server.killHost();
  await writeFile(fileOf(id, "session.json"), "{torn");
  await server.restart();
  expect((await rest.get(`/api/sessions/${id}`)).status).toBe(404);
  expect((await stat(fileOf(id, "output"))).isFile()).toBe(true);
  expect(await server.hostLog()).toContain('"session not readable"');
});
