// The programs of sessions: how they end, without losing output or leaving processes (contract 2.2, 2.3).
import { randomBytes } from "node:crypto";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { eventually } from "../../packages/testing/src/wait.ts";
import { bestTime } from "./harness/best-time.ts";
import { Follower } from "./harness/follower.ts";
import { openFiles, processStat, sessionMembers, zombiesOf } from "./harness/processes.ts";
import { Rest } from "./harness/rest.ts";
import { scaled } from "./harness/scale.ts";
import { TestServer } from "./harness/test-server.ts";

let server: TestServer;
let rest: Rest;

beforeAll(async () => {
  server = await TestServer.start({ asProcess: true });
  rest = new Rest(server);
});
afterAll(() => server[Symbol.asyncDispose]());

/** Resolves when the session host has reaped all of its ended programs. */
async function noZombies(): Promise<void> {
  const host = await server.hostPid();
  await eventually(async () => zombiesOf(host).length === 0 || undefined, "the end of zombies");
}

describe("the end of a program", () => {
  test.each([
    ["exit 0", { exitCode: 0, exitReason: "exit" }],
    ["exit 1", { exitCode: 1, exitReason: "exit" }],
    ["exit 127", { exitCode: 127, exitReason: "exit" }],
    ["exit 255", { exitCode: 255, exitReason: "exit" }],
    ["kill -KILL $$", { exitCode: 137, exitSignal: "SIGKILL", exitReason: "signal" }],
    ["kill -SEGV $$", { exitCode: 139, exitSignal: "SIGSEGV", exitReason: "signal" }],
    ["kill -ABRT $$", { exitCode: 134, exitSignal: "SIGABRT", exitReason: "signal" }],
  ])("by %j is %j", async (script, expected) => {
    const { id } = await rest.run(script);
    using socket = server.connect();
    using follower = Follower.attach(socket, id);
    const { exitCode, signal } = await follower.exit();
    const record = await rest.record(id);
    expect(record).toMatchObject({ status: "exited", ...expected });
    expect({ exitCode, exitSignal: signal }).toEqual({
      exitCode: record.exitCode,
      exitSignal: record.exitSignal,
    });
    expect(Date.parse(record.exitedAt ?? "")).toBeGreaterThanOrEqual(Date.parse(record.created));
    expect(record.exitSignal).toBe("exitSignal" in expected ? expected.exitSignal : undefined);
  });

  test("leaves no zombie and no open file in the session host", async () => {
    const host = await server.hostPid();
    const round = async (): Promise<void> => {
      const ids = await Promise.all(
        Array.from({ length: 20 }, async () => (await rest.run("echo x; exit 1")).id),
      );
      await Promise.all(ids.map((id) => rest.ended(id)));
      await Promise.all(ids.map((id) => rest.send("DELETE", `/api/sessions/${id}`)));
    };
    await round();
    const before = openFiles(host);
    await round();
    await round();
    await noZombies();
    // Connections between server and host come and go.
    await eventually(async () => (openFiles(host) <= before + 10 ? true : undefined), "closed files");
  });
});

describe("DELETE", () => {
  async function end(id: string): Promise<{ ms: number; exitCode: number }> {
    const before = performance.now();
    const answer = await rest.send("DELETE", `/api/sessions/${id}`);
    expect([answer.status, answer.json]).toMatchObject([200, { success: true, status: "exited" }]);
    return { ms: performance.now() - before, exitCode: Object(answer.json).exitCode };
  }

  test("ends an interactive shell with all its jobs, whatever they do about signals", async () => {
    const jobs = [
      "sleep 1001 &",
      "(sleep 1002 & sleep 1003; sleep 1) &",
      "nohup sleep 1004 >/dev/null 2>&1 &",
      "sleep 1005 & kill -STOP $!",
      "sh -c 'trap \"\" HUP TERM INT; echo trap-$((6*7))-set; sleep 1006; while :; do sleep 1; done' &",
      "cat /dev/zero >/dev/null &",
      "echo all-$((6*7))-up",
    ];
    const killed = async (): Promise<number> => {
      const { id, pid = 0 } = await rest.create({ command: ["bash", "--norc", "-i"] });
      await rest.post(`/api/sessions/${id}/input`, { text: `${jobs.join("\r")}\r` });
      await rest.shows(id, /all-42-up/);
      await rest.shows(id, /trap-42-set/);
      const members = await eventually(async () => {
        const pids = sessionMembers(pid);
        return pids.length >= 8 ? pids : undefined;
      }, "the jobs");
      const { ms } = await end(id);
      expect(ms).toBeGreaterThan(2900);
      expect(sessionMembers(pid)).toEqual([]);
      expect(members.filter((member) => processStat(member)?.isZombie === false)).toEqual([]);
      await noZombies();
      expect(await rest.record(id)).toMatchObject({ status: "exited" });
      return ms;
    };
    expect(await bestTime(8_000, killed)).toBeLessThan(8_000);
  });

  test("takes no longer than a program that ends when it is told", async () => {
    const told = async (): Promise<number> => {
      // On a busy machine the second signal may arrive before the program has handled the first.
      const script = "trap 'exit 9' HUP TERM; echo ready; while :; do sleep 0.01; done";
      const { id, pid = 0 } = await rest.run(script);
      await rest.shows(id, /ready/);
      const { ms, exitCode } = await end(id);
      expect(exitCode).toBe(9);
      expect(sessionMembers(pid)).toEqual([]);
      return ms;
    };
    expect(await bestTime(2500, told)).toBeLessThan(2500);
  });

  test("kills after 3 s what ignores everything else", async () => {
    const killed = async (): Promise<number> => {
      const script = "trap '' HUP TERM INT QUIT; echo ready; while :; do sleep 0.01; done";
      const { id, pid = 0 } = await rest.run(script);
      await rest.shows(id, /ready/);
      const { ms, exitCode } = await end(id);
      expect(exitCode).toBe(137);
      expect(ms).toBeGreaterThan(2900);
      expect(sessionMembers(pid)).toEqual([]);
      expect(await rest.record(id)).toMatchObject({ exitSignal: "SIGKILL" });
      return ms;
    };
    expect(await bestTime(8_000, killed)).toBeLessThan(8_000);
  });

  test("ends a stopped program, and one that floods its terminal", async () => {
    const stopped = await rest.run("echo ready; kill -STOP $$; cat");
    await rest.shows(stopped.id, /ready/);
    const flood = await rest.create({ command: "yes" });
    expect((await end(flood.id)).exitCode).toBe(129);
    await end(stopped.id);
    expect([...sessionMembers(stopped.pid ?? 0), ...sessionMembers(flood.pid ?? 0)]).toEqual([]);
  });

  test("of many sessions at once, and twice at once, ends each once", async () => {
    const ids = await Promise.all(
      Array.from({ length: 20 }, async () => (await rest.create({ command: "cat" })).id),
    );
    const answers = await Promise.all(
      [...ids, ...ids].map((id) => rest.send("DELETE", `/api/sessions/${id}`)),
    );
    for (const { status, json } of answers) {
      expect([status, Object(json).success]).toEqual([200, true]);
      expect(["exited", "removed"]).toContain(Object(json).status);
    }
  });

  test("a SIGTERM that is ignored is followed by a SIGKILL after 3 s", async () => {
    const { id } = await rest.run("trap '' TERM; echo ready; while :; do sleep 0.01; done");
    await rest.shows(id, /ready/);
    const before = performance.now();
    expect((await rest.post(`/api/sessions/${id}/kill`, { signal: "SIGTERM" })).status).toBe(200);
    expect(await rest.ended(id)).toMatchObject({ exitSignal: "SIGKILL" });
    expect(performance.now() - before).toBeGreaterThan(2900);
  });
});

describe("hundreds of programs that print 20 to 300 KB and end at once", () => {
  const COUNT = scaled(1000);
  const SIDE_BY_SIDE = 8;
  const TIMEOUT_MS = 300_000;
  const MIN_BYTES = 20_000;
  const MAX_BYTES = 300_000;
  /** No line feed: the terminal would put a carriage return before it. */
  const source = Buffer.from(randomBytes(MAX_BYTES).map((byte) => (byte === 10 ? 11 : byte)));

  test("reach the journal and a viewer with every byte", { timeout: TIMEOUT_MS }, async () => {
    const file = join(server.controlDir, "source");
    await writeFile(file, source);
    using socket = server.connect();
    let next = 0;
    let total = 0;
    const one = async (number: number): Promise<void> => {
      const length = MIN_BYTES + ((number * 7919) % (MAX_BYTES - MIN_BYTES + 1));
      const { id } = await rest.create({ command: ["head", "-c", `${length}`, file] });
      using viewer = Follower.attach(socket, id);
      expect(await viewer.exit()).toMatchObject({ exitCode: 0 });
      const { bytes } = await rest.get(`/api/sessions/${id}/output`);
      for (const got of [viewer.bytes, bytes]) {
        expect(`${number}: ${got.length} bytes`).toBe(`${number}: ${length} bytes`);
        expect(Buffer.compare(got, source.subarray(0, length))).toBe(0);
      }
      expect(viewer.resyncs).toEqual([]);
      total += length;
      expect((await rest.send("DELETE", `/api/sessions/${id}`)).json).toMatchObject({ status: "removed" });
    };
    const worker = async (): Promise<void> => {
      while (next < COUNT) await one(next++);
    };
    await Promise.all(Array.from({ length: SIDE_BY_SIDE }, worker));
    expect(total).toBeGreaterThan(COUNT * MIN_BYTES);
    await noZombies();
  });
});
