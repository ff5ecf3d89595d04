// A silent remote is removed within 20 s: a health check every 15 s, of 5 s at most (contract 6.3). The tests wait in
// parallel.
import { createHash } from "node:crypto";
import { setTimeout as pause } from "node:timers/promises";
import { expect, test } from "vitest";
import { eventually } from "../../../packages/testing/src/wait.ts";
import { withDeadline } from "../../../src/lib/async/deadline.ts";
import { SubscribeFlag } from "../../../src/protocol/frame/payload.ts";
import { HEALTH_CHECK_LATENESS_MS, HEALTH_CHECK_TIMEOUT_MS } from "../../../src/protocol/limits.ts";
import { SpecRemote } from "../fixtures/spec-remote.ts";
import { AuditLog, type Line } from "../harness/audit-log.ts";
import { bestTime } from "../harness/best-time.ts";
import { FakeRemote } from "../harness/fake-remote.ts";
import { HashingViewer } from "../harness/hashing-viewer.ts";
import { PATIENCE_MS } from "../harness/patience.ts";
import { RawSocket } from "../harness/raw-socket.ts";
import type { ServerEvents } from "../harness/server-events.ts";
import { basic, TestFleet } from "../harness/test-fleet.ts";

const GONE_WITHIN_MS = 20_000;

async function goneAfter(events: ServerEvents, name: string, started: number): Promise<number> {
  await events.first(({ type, remoteName }) => type === "remote-left" && remoteName === name);
  return performance.now() - started;
}

test.concurrent("a remote that is stopped, killed, hanging or at an address where nothing listens is gone within 20 s; others stay", async () => {
  await using fleet = await TestFleet.start({ asProcess: true, remotes: 3 });
  await using hanging = await FakeRemote.open((path) =>
    path === "/api/health" ? undefined : { status: 404 },
  );
  await using events = await fleet.events();
  const ids = new Map<string, string>();
  for (const { name } of await fleet.remotes()) {
    ids.set(name, (await fleet.create(name, { command: ["cat"] })).id);
  }
  for (const [name, url] of [
    ["nobody", "http://127.0.0.1:9"],
    ["hanging", hanging.url],
  ]) {
    const body = { id: name, name, url, token: "t" };
    expect((await fleet.ask("/api/remotes/register", { body })).status).toBe(200);
  }
  const started = performance.now();
  fleet.remote("worker-1").signal("SIGSTOP");
  await fleet.remote("worker-2").kill();
  const took = await Promise.all(
    ["worker-1", "worker-2", "nobody", "hanging"].map((name) => goneAfter(events, name, started)),
  );
  expect(Math.max(...took)).toBeLessThan(GONE_WITHIN_MS);
  const audit = new AuditLog(fleet.hq.controlDir);
  const isNobody = ({ action, remote }: Line): boolean => action === "remote.expire" && remote === "nobody";
  expect(await audit.line(isNobody, "its end")).toMatchObject({ result: "ok", details: { id: "nobody" } });
  expect((await fleet.remotes()).map(({ name }) => name)).toEqual(["worker-3"]);
  expect((await fleet.sessions()).map(({ id }) => id)).toEqual([ids.get("worker-3")]);
  for (const name of ["worker-1", "worker-2"]) {
    expect((await fleet.ask(`/api/sessions/${ids.get(name)}`)).json.code).toBe("remote_unreachable");
  }

  const isGone = async () => (await fleet.remotes()).every(({ name }) => name !== "worker-1") || undefined;
  const back = async (): Promise<number> => {
    await using later = await fleet.events();
    fleet.remote("worker-1").signal("SIGSTOP");
    await eventually(isGone, "its absence");
    const again = performance.now();
    fleet.remote("worker-1").signal("SIGCONT");
    await later.first(({ type }) => type === "remote-joined");
    return performance.now() - again;
  };
  expect(await bestTime(3_000, back)).toBeLessThan(3_000);
  expect((await fleet.ask(`/api/sessions/${ids.get("worker-1")}`)).status).toBe(200);
});

test.concurrent("an HQ that is killed when it has removed a silent remote ends none of that one's viewers", async () => {
  await using fleet = await TestFleet.start({ asProcess: true });
  await using events = await fleet.events();
  const command = ["sh", "-c", "stty -echo; echo before; read line; echo after; exit 3"];
  const { id } = await fleet.create("worker-1", { command });
  using viewer = new HashingViewer(fleet.hq.url, id);
  await viewer.reached("before\r\n".length);
  fleet.remote("worker-1").signal("SIGSTOP");
  await goneAfter(events, "worker-1", performance.now());
  await fleet.hq.restart();
  expect(await fleet.remotes()).toEqual([]);
  await using newcomer = await RawSocket.open(fleet.hq.url);
  newcomer.subscribe(id, { flags: SubscribeFlag.Stdout });
  expect(await newcomer.errorCode()).toBe("remote_unreachable");
  const { status, json } = await fleet.ask(`/api/sessions/${id}`);
  expect([status, json.error]).toEqual([502, expect.stringContaining("worker-1 stopped answering")]);

  fleet.remote("worker-1").signal("SIGCONT");
  const input = { body: { text: "on\n" } };
  const typed = async () => (await fleet.ask(`/api/sessions/${id}/input`, input)).status === 200 || undefined;
  await eventually(typed, "the remote");
  const sha256 = createHash("sha256").update("before\r\nafter\r\n").digest("hex");
  expect(await viewer.ended).toEqual({ sha256, bytes: 15, resyncs: 0 });
});

test.concurrent("a machine whose sessions cannot be watched does not hold up the client's other sessions", async () => {
  await using fleet = await TestFleet.start({ asProcess: true });
  const { id } = await fleet.create("worker-1", { command: ["cat"] });
  const own = await fleet.ask(`/api/sessions/${id}`);
  const silent = Array.from({ length: 30 }, (_, number) => ({ ...own.json, id: `silent-${number}` }));
  // It answers requests, but opens no WebSocket.
  await using remote = await FakeRemote.open((path) => {
    if (path === "/api/sessions") return { status: 200, body: silent };
    return path === "/api/health" ? { status: 200, body: { status: "healthy" } } : { status: 404 };
  });
  await using events = await fleet.events();
  const body = { id: "mute", name: "mute", url: remote.url, token: "t" };
  expect((await fleet.ask("/api/remotes/register", { body })).status).toBe(200);
  await events.first(({ type, remoteName }) => type === "remote-joined" && remoteName === "mute");
  await using client = await RawSocket.open(fleet.hq.url);
  for (const session of silent) client.subscribe(session.id, { flags: SubscribeFlag.Stdout });
  client.subscribe(id, { flags: SubscribeFlag.Stdout });
  client.type(id, "typed");
  await client.shows(/typed/);
});

test.concurrent("an HQ that was suspended when a remote answered does not remove the remote", async () => {
  await using fleet = await TestFleet.start({ asProcess: true, remotes: 0 });
  const stopped = Promise.withResolvers<void>();
  const atRegistration = (): void => {};
  const atConnection = (): void => {};
  const atCheck = (): void => {
    fleet.hq.signal("SIGSTOP");
    stopped.resolve();
  };
  const steps = [atRegistration, atConnection, atCheck];
  await using remote = await FakeRemote.open((path) => {
    if (path !== "/api/health") return { status: 404 };
    steps.shift()?.();
    return { status: 200, body: { status: "healthy" } };
  });
  const body = { id: "quick", name: "quick", url: remote.url, token: "t" };
  expect((await fleet.ask("/api/remotes/register", { body })).status).toBe(200);
  await withDeadline(stopped.promise, PATIENCE_MS, "the look of the HQ");
  // Until its deadline has passed without the answer being read.
  await pause(HEALTH_CHECK_TIMEOUT_MS + 2 * HEALTH_CHECK_LATENESS_MS);
  fleet.hq.signal("SIGCONT");
  // Either the answer is read at last, or the check is repeated: the system decides.
  const isJudged = async () =>
    /^ttyhq_probes_total\{result="(alive|silent)"\} [1-9]/m.test((await fleet.ask("/metrics")).text) ||
    undefined;
  await eventually(isJudged, "the end of the look");
  expect((await fleet.remotes()).map(({ name }) => name)).toEqual(["quick"]);
  expect(fleet.hq.log).not.toContain("remote does not answer");
});

test.concurrent("a remote that did not notice its short absence is taken back", async () => {
  await using fleet = await TestFleet.start({ asProcess: true, remotes: 0 });
  await using events = await fleet.events();
  let isAway = false;
  await using remote = await FakeRemote.open((path) => {
    if (path !== "/api/health") return { status: 404 };
    return isAway ? undefined : { status: 200, body: { status: "healthy", remoteId: "away" } };
  });
  const body = { id: "away", name: "away", url: remote.url, token: "t" };
  expect((await fleet.ask("/api/remotes/register", { body })).status).toBe(200);
  isAway = true;
  await goneAfter(events, "away", performance.now());
  isAway = false;
  const names = async () => (await fleet.remotes()).map(({ name }) => name);
  await eventually(async () => (await names()).includes("away") || undefined, "its return");
});

test.concurrent("a remote that knows the specification alone is gone with its sessions within 20 s, and back when it registers", async () => {
  await using fleet = await TestFleet.start({ asProcess: true, remotes: 0 });
  await using events = await fleet.events();
  await using stack = new AsyncDisposableStack();
  for (const name of ["staying", "leaving"]) {
    const remote = stack.use(await SpecRemote.open());
    expect(await remote.register(fleet.hq.url, name, basic())).toBe(200);
    await fleet.create(name, { command: ["cat"] });
    if (name === "leaving") await remote[Symbol.asyncDispose]();
  }
  await goneAfter(events, "leaving", performance.now());
  expect((await fleet.sessions()).map(({ source }) => source)).toEqual(["staying"]);
  await using again = await SpecRemote.open();
  expect(await again.register(fleet.hq.url, "leaving", basic())).toBe(200);
  expect((await fleet.remotes()).map(({ name }) => name)).toEqual(["staying", "leaving"]);
});
