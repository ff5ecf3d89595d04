import { expect, test } from "vitest";
import { Registration } from "../../../../src/hq/joining/registration.ts";
import { createCaller } from "../../../../src/protocol/client/caller.ts";
import type { ClientRequest, Send } from "../../../../src/protocol/client/send.ts";
import { ServiceError } from "../../../../src/protocol/errors.ts";
import { HQ_CHECK_MS } from "../../../../src/protocol/limits.ts";
import { MemorySessions } from "../../hub/memory-sessions.ts";
import { registration } from "../memory-store.ts";

/** An HQ that answers as `answer` says; `requests`: what it was asked, in order. */
function hqOf(answer: (request: ClientRequest) => Promise<object>) {
  const requests: string[] = [];
  const changes = new EventTarget();
  const send: Send = async (request) => {
    requests.push(`${request.method} ${request.path}`);
    changes.dispatchEvent(new Event("request"));
    const answered: { readonly status?: unknown } = await answer(request);
    const body = new TextEncoder().encode(JSON.stringify(answered));
    return {
      status: typeof answered.status === "number" ? answered.status : 200,
      headers: new Map(),
      body: (async function* () {
        yield body;
      })(),
    };
  };
  const asked = async (line: string, times = 1): Promise<void> => {
    const { promise, resolve } = Promise.withResolvers<void>();
    const check = (): void => {
      if (requests.filter((request) => request === line).length >= times) resolve();
    };
    changes.addEventListener("request", check);
    check();
    await promise;
  };
  return { hq: createCaller(send), requests, asked };
}

function answers({ path }: ClientRequest): object {
  if (path === "/api/health") {
    const counts = { uptime: 1, sessions: 0, pid: 1, protocol: 1 };
    return { ...counts, status: "healthy", version: "0", mode: "hq", instanceId: "hq-1", timestamp: "" };
  }
  const { token: _, ...record } = registration("a");
  const remote = { ...record, registeredAt: "", lastHeartbeat: "", sessionIds: [] };
  return path === "/api/remotes/register" ? { success: true, remote } : { success: true, sessionCount: 1 };
}

function remoteAt(hq: ReturnType<typeof hqOf>["hq"], now: () => number = Date.now) {
  const backend = new MemorySessions();
  const warnings: object[] = [];
  const log = { info: () => {}, warn: (fields: object) => void warnings.push(fields) };
  const uplinks = { isOpen: false, closed: 0 };
  const remote = new Registration({
    ...{ hq, backend, log, request: registration("a"), now, random: () => 0.5 },
    uplinks: () => uplinks,
  });
  return { remote, backend, warnings, uplinks };
}

const REGISTER = "POST /api/remotes/register";
const LEAVE = "DELETE /api/remotes/id-of-a";
const REFRESH = "POST /api/remotes/a/refresh-sessions";

test("an HQ that watches the sessions gets no requests that announce them", async () => {
  const { hq, requests } = hqOf(async (request) => answers(request));
  const { remote, backend, uplinks } = remoteAt(hq);
  while (!remote.isRegistered) await new Promise(setImmediate);
  uplinks.isOpen = true;
  backend.announce({ type: "session-start", timestamp: "", sessionId: "s" });
  await remote[Symbol.asyncDispose]();
  expect(requests).toEqual(["GET /api/health", REGISTER, LEAVE]);
});

test("a remote registers again with each change, also with one that comes while it registers", async () => {
  const registered: unknown[] = [];
  const changing = Promise.withResolvers<void>();
  const { hq, asked } = hqOf(async (request) => {
    if (request.path !== "/api/remotes/register") return answers(request);
    registered.push(JSON.parse(String(request.body)).cordoned);
    await changing.promise;
    return answers(request);
  });
  const { remote } = remoteAt(hq);
  await asked(REGISTER);
  remote.update({ cordoned: true });
  changing.resolve();
  await asked(REGISTER, 2);
  while (!remote.isRegistered) await new Promise(setImmediate);
  remote.update({ cordoned: false });
  await asked(REGISTER, 3);
  expect(registered).toEqual([undefined, true, false]);
  await remote[Symbol.asyncDispose]();
});

test("a remote registers, tells its sessions, and leaves when it stops", async () => {
  const { hq, requests, asked } = hqOf(async (request) => answers(request));
  const { remote, backend } = remoteAt(hq);
  await asked("GET /api/health");
  while (!remote.isRegistered) await new Promise(setImmediate);
  backend.announce({ type: "session-start", timestamp: "", sessionId: "s" });
  await asked(REFRESH);
  await remote[Symbol.asyncDispose]();
  expect(requests).toEqual(["GET /api/health", REGISTER, REFRESH, LEAVE]);
});

test("a remote that never registered announces no sessions", async () => {
  const { hq, requests, asked } = hqOf(async (request) => {
    if (request.method === "GET") return answers(request);
    throw new ServiceError("unauthorized", "wrong user name or password");
  });
  const { remote, backend, warnings } = remoteAt(hq);
  await asked(REGISTER);
  while (warnings.length === 0) await new Promise(setImmediate);
  expect(warnings[0]).toMatchObject({ name: "a", reason: "wrong user name or password" });
  backend.announce({ type: "session-start", timestamp: "", sessionId: "s" });
  await remote[Symbol.asyncDispose]();
  expect(requests).not.toContain(REFRESH);
  expect(JSON.stringify(warnings)).not.toContain(registration("a").token);
});

test("a remote that stops while it registers leaves after the answer, so that the HQ does not list it", async () => {
  const registering = Promise.withResolvers<void>();
  let isListed = false;
  const { hq, asked } = hqOf(async (request) => {
    if (request.path === "/api/health") return answers(request);
    if (request.method === "POST") await registering.promise;
    isListed = request.method === "POST";
    return answers(request);
  });
  const { remote } = remoteAt(hq);
  await asked(REGISTER);
  const stopped = remote[Symbol.asyncDispose]();
  await new Promise(setImmediate);
  registering.resolve();
  await stopped;
  expect(isListed).toBe(false);
});

test("a remote that stops while its HQ hangs waits only a few seconds for the registration, and still leaves", async () => {
  const { hq, requests, asked } = hqOf(async (request) => {
    if (request.method === "POST") return new Promise<never>(() => {});
    return request.method === "DELETE" ? { success: true } : answers(request);
  });
  const { remote } = remoteAt(hq);
  await asked(REGISTER);
  const started = performance.now();
  await remote[Symbol.asyncDispose]();
  expect(performance.now() - started).toBeLessThan(10_000);
  expect(requests).toEqual(["GET /api/health", REGISTER, LEAVE]);
});

test("a remote that never reached its HQ does not unregister", async () => {
  const { hq, requests, asked } = hqOf(() => new Promise<never>(() => {}));
  const { remote } = remoteAt(hq);
  await asked("GET /api/health");
  await remote[Symbol.asyncDispose]();
  expect(requests).toEqual(["GET /api/health"]);
});

test.each([
  ["after sleep: the clock went on by more than five seconds between two checks", 6_001],
  ["when the clock was put back", -1],
])("a registration is repeated %s", async (_, ms) => {
  const { hq, asked } = hqOf(async (request) => answers(request));
  let now = 0;
  const { remote } = remoteAt(hq, () => now);
  while (!remote.isRegistered) await new Promise(setImmediate);
  now += ms;
  await asked(REGISTER, 2);
  await remote[Symbol.asyncDispose]();
});

test("a registration is repeated after a minute, and not before", async () => {
  const { hq, asked } = hqOf(async (request) => answers(request));
  let ms = 0;
  // Five seconds from one look to the next: no jump.
  const { remote } = remoteAt(hq, () => {
    ms += 5_000;
    return ms;
  });
  await asked(REGISTER, 2);
  expect(ms).toBeGreaterThanOrEqual(60_000);
  await remote[Symbol.asyncDispose]();
});

test("a remote registers with an HQ that does not identify itself, and again when it does", async () => {
  let isHealthy = false;
  const { hq, asked } = hqOf(async (request) => {
    if (request.path === "/api/health" && !isHealthy) throw new ServiceError("host_unreachable", "no answer");
    return answers(request);
  });
  let ms = 0;
  const { remote } = remoteAt(hq, () => ms);
  while (!remote.isRegistered) await new Promise(setImmediate);
  isHealthy = true;
  ms += HQ_CHECK_MS;
  await asked(REGISTER, 2);
  await remote[Symbol.asyncDispose]();
});

test("a remote registers anew with an HQ that was started again just after it had registered", async () => {
  let instanceId = "hq-1";
  const { hq, asked } = hqOf(async (request) => {
    if (request.path === "/api/remotes/register") instanceId = "hq-2";
    return request.path === "/api/health" ? { ...answers(request), instanceId } : answers(request);
  });
  let ms = 0;
  const { remote } = remoteAt(hq, () => ms);
  while (!remote.isRegistered) await new Promise(setImmediate);
  ms += HQ_CHECK_MS;
  await asked(REGISTER, 2);
  await remote[Symbol.asyncDispose]();
});

test("a remote whose HQ opens and closes a connection at once registers again as soon as the HQ answers", async () => {
  let isAnswering = true;
  const { hq, requests, asked } = hqOf(async (request) => {
    if (isAnswering) return answers(request);
    throw new ServiceError("host_unreachable", "connection refused");
  });
  const { remote, uplinks } = remoteAt(hq);
  while (!remote.isRegistered) await new Promise(setImmediate);
  isAnswering = false;
  uplinks.closed += 1;
  await asked("GET /api/health", 2);
  isAnswering = true;
  await asked(REGISTER, 2);
  expect(requests.filter((request) => request === REGISTER)).toHaveLength(2);
  await remote[Symbol.asyncDispose]();
});

test("a remote that its HQ forgot registers again at its next announcement, and logs it", async () => {
  let isDeleted = true;
  const { hq, asked } = hqOf(async (request) => {
    if (request.path !== "/api/remotes/a/refresh-sessions" || !isDeleted) return answers(request);
    return { status: 404, error: "no remote with the name a" };
  });
  const { remote, backend, warnings } = remoteAt(hq);
  while (!remote.isRegistered) await new Promise(setImmediate);
  backend.announce({ type: "session-start", timestamp: "", sessionId: "s" });
  await asked(REGISTER, 2);
  while (!remote.isRegistered) await new Promise(setImmediate);
  expect(warnings).toEqual([expect.objectContaining({ name: "a", sessionId: "s", action: "created" })]);
  isDeleted = false;
  backend.announce({ type: "session-removed", timestamp: "", sessionId: "s" });
  await asked(REFRESH, 2);
  await remote[Symbol.asyncDispose]();
});

test("a session that cannot be announced is logged, and the remote stays registered", async () => {
  const { hq, asked } = hqOf(async (request) => {
    if (!request.path.endsWith("/refresh-sessions")) return answers(request);
    return { status: 500, error: "failed to refresh sessions" };
  });
  const { remote, backend, warnings } = remoteAt(hq);
  while (!remote.isRegistered) await new Promise(setImmediate);
  backend.announce({ type: "session-start", timestamp: "", sessionId: "s" });
  await asked(REFRESH);
  while (warnings.length === 0) await new Promise(setImmediate);
  expect(warnings).toEqual([
    expect.objectContaining({ name: "a", sessionId: "s", reason: expect.any(String) }),
  ]);
  expect(remote.isRegistered).toBe(true);
  await remote[Symbol.asyncDispose]();
});

test("an HQ with the specification alone counts as the same one while it answers", async () => {
  const { hq, requests, asked } = hqOf(async ({ path }) =>
    path === "/api/health" ? { status: "healthy", uptime: 1, version: "0", sessions: 0 } : {},
  );
  let ms = 0;
  const { remote, warnings } = remoteAt(hq, () => ms);
  while (!remote.isRegistered) await new Promise(setImmediate);
  ms += HQ_CHECK_MS;
  await asked("GET /api/health", 2);
  await remote[Symbol.asyncDispose]();
  expect(requests).toEqual(["GET /api/health", REGISTER, "GET /api/health", LEAVE]);
  expect(warnings).toEqual([]);
});

test("an HQ with the specification alone counts as restarted when its uptime has gone back", async () => {
  let uptime = 100;
  const { hq, asked } = hqOf(async ({ path }) =>
    path === "/api/health" ? { status: "healthy", uptime, version: "0", sessions: 0 } : {},
  );
  let ms = 0;
  const { remote } = remoteAt(hq, () => ms);
  while (!remote.isRegistered) await new Promise(setImmediate);
  uptime = 4;
  ms += HQ_CHECK_MS;
  await asked(REGISTER, 2);
  await remote[Symbol.asyncDispose]();
});
