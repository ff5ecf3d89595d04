// `--keep-recordings`: ended sessions are removed, running ones stay, and a crash in the middle leaves nothing half
// done.
import { mkdir, readdir, readFile, stat, utimes, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { eventually } from "../../packages/testing/src/wait.ts";
import type { ServerEvent } from "../../src/protocol/frame/event.ts";
import { ask } from "./harness/http.ts";
import { OPEN, TestServer } from "./harness/test-server.ts";

const KIB = 1024;

function keeping(what: string, args: readonly string[] = []): Promise<TestServer> {
  return TestServer.start({ asProcess: true, args: [...OPEN, ...args, "--keep-recordings", what] });
}

async function ended(server: TestServer, bytes: number): Promise<string> {
  const script = `stty raw; head -c ${bytes} /dev/zero | tr '\\0' x`;
  const { id } = await server.client().create({ command: ["sh", "-c", script] });
  await eventually(async () => {
    const record = (await server.client().list()).find((each) => each.id === id);
    return record?.status === "running" ? undefined : true;
  }, "the end of the program");
  return id;
}

async function folders(server: TestServer): Promise<readonly string[]> {
  return (await readdir(join(server.controlDir, "sessions"))).sort();
}

async function listed(server: TestServer, ids: readonly string[]): Promise<void> {
  const expected = [...ids].sort().join();
  await eventually(async () => {
    const found = (await server.client().list()).map(({ id }) => id).sort();
    return (found.join() === expected && (await folders(server)).join() === expected) || undefined;
  }, `the list ${expected}`);
}

test.each(["apart", "inline"])(
  "over the size the oldest ended sessions go, files and all, which is told; a running one stays (sessions %s)",
  async (where) => {
    await using server = await keeping("1200KiB", ["--session-host", where]);
    const events: ServerEvent[] = [];
    using socket = server.connect();
    socket.subscribeGlobal((event) => void events.push(event));
    const running = await server.client().create({
      command: ["sh", "-c", `stty raw; head -c ${2_000 * KIB} /dev/zero; exec cat`],
    });
    // Each takes twice its output: the journal and the recording.
    const first = await ended(server, 200 * KIB);
    const second = await ended(server, 200 * KIB);
    await listed(server, [running.id, first, second]);
    const third = await ended(server, 250 * KIB);
    await listed(server, [running.id, second, third]);
    await eventually(
      async () =>
        events.some(({ type, sessionId }) => type === "session-removed" && sessionId === first) || undefined,
      "the event",
    );
    expect((await ask(server.url, `/api/sessions/${first}/recording`)).status).toBe(404);
    const line = await eventually(async () => {
      const log = where === "apart" ? await server.hostLog() : server.log;
      const lines = log.split("\n").slice(0, -1);
      return lines.find((each) => each.includes("recording removed"));
    }, "the line of the log");
    expect(JSON.parse(line)).toMatchObject({ session: first, because: "size", bytes: expect.any(Number) });
  },
);

test("sessions older than the maximum age are removed when a host starts", async () => {
  await using server = await keeping("1h");
  const old = await ended(server, 10);
  const young = await ended(server, 10);
  await server.kill("SIGTERM");
  await server.killHost("SIGTERM");
  await endedLongAgo(server, old);
  await server.restart();
  await listed(server, [young]);
});

test("an interrupted removal is completed by the next host, and is no session in between", async () => {
  await using server = await keeping("1h");
  const kept = await ended(server, 10);
  await server.kill("SIGTERM");
  await server.killHost("SIGTERM");
  const half = join(server.controlDir, "sessions", ".removed-abc-1");
  await mkdir(half);
  await writeFile(join(half, "output"), "x");
  await server.restart();
  await listed(server, [kept]);
  expect(await server.hostLog()).not.toContain("session not readable");
});

test("a host that is killed while it removes hundreds leaves whole sessions and nothing else", async () => {
  await using server = await keeping("1h");
  const pattern = await ended(server, 10);
  await server.kill("SIGTERM");
  await server.killHost("SIGTERM");
  const source = join(server.controlDir, "sessions", pattern);
  for (let copy = 0; copy < 300; copy += 1) await copied(server, source, `copy-${copy}`);
  for (let kill = 0; kill < 4; kill += 1) {
    await server.restart();
    await eventually(async () => {
      const left = (await folders(server)).length;
      return left < 301 - 60 * kill || undefined;
    }, "some removals");
    // The server first: it would start another host.
    server.signal("SIGKILL");
    await server.killHost();
    await server.kill();
    for (const name of await folders(server)) {
      if (name.startsWith(".removed-")) continue;
      expect((await readdir(join(server.controlDir, "sessions", name))).sort()).toEqual(
        (await readdir(source)).sort(),
      );
    }
  }
  await server.restart();
  await listed(server, [pattern]);
});

test.each(["never", "30", "10GB,5GB"])("--keep-recordings %s says what it must be", async (value) => {
  await expect(keeping(value)).rejects.toThrow(
    /--keep-recordings: .*must be an age, a size or both, each with its unit, such as 30d, 10GB or 30d,10GB/,
  );
});

/** Two hours. */
async function endedLongAgo(server: TestServer, id: string): Promise<void> {
  const path = join(server.controlDir, "sessions", id, "session.json");
  const record = JSON.parse(await readFile(path, "utf8"));
  const at = new Date(Date.now() - 7_200_000).toISOString();
  await writeFile(path, JSON.stringify({ ...record, id, exit: { ...record.exit, at } }));
}

async function copied(server: TestServer, source: string, id: string): Promise<void> {
  const target = join(server.controlDir, "sessions", id);
  await mkdir(target, { mode: 0o700 });
  for (const name of await readdir(source)) {
    await writeFile(join(target, name), await readFile(join(source, name)));
    await utimes(join(target, name), new Date(), (await stat(join(source, name))).mtime);
  }
  await endedLongAgo(server, id);
}
