import { expect, test } from "vitest";
import { Auditor, type AuditorOptions } from "../../../src/audit/auditor.ts";
import type { AuditEntry } from "../../../src/audit/entry.ts";
import type { Principal } from "../../../src/auth/principal.ts";
import { ALL, OWN } from "../../../src/auth/roles.ts";
import type { AuditedRequest } from "../../../src/http/audit-hook.ts";
import { inTrace } from "../../../src/lib/trace.ts";
import { ServiceError } from "../../../src/protocol/errors.ts";

const ADA: Principal = { user: "ada", method: "token", rights: ALL };
const address = "10.0.0.1";

function auditor(more: Partial<AuditorOptions> = {}) {
  const lines: AuditEntry[] = [];
  let time = 0;
  const all = new Auditor({
    audit: { write: (entry) => void lines.push(entry) },
    users: ["ada", "bob"],
    now: () => time,
    ...more,
  });
  const pass = (ms: number): void => {
    time += ms;
  };
  return { lines, all, pass };
}

function request(
  endpoint: AuditedRequest["endpoint"],
  input: { readonly params?: unknown; readonly query?: unknown; readonly body?: unknown } | undefined,
  outcome: AuditedRequest["outcome"],
  principal?: Principal,
): AuditedRequest {
  return {
    ...{ endpoint, method: "POST", path: "/api/x", address, host: "h", origin: "https://o", hasProof: true },
    ...{ principal, outcome, input: input && { params: {}, query: {}, body: {}, ...input } },
  };
}

const answered = (answer: unknown = {}) => ({ answer });
const failed = (code: ConstructorParameters<typeof ServiceError>[0]) => ({
  error: new ServiceError(code, "no"),
});

test("a login has user, method and address, and no proof", () => {
  const { lines, all } = auditor();
  const secrets = { password: "hunter2", ticket: undefined };
  all.request(
    request("createToken", { body: secrets }, answered({ token: "a.b.c", expiresIn: 86_400, user: "ada" })),
  );
  const challenge = { challengeId: "challenge-7", publicKey: "AAAA-key", signature: "signed-it" };
  all.request(request("sshLogin", { body: challenge }, answered({ token: "d.e.f", user: "bob" })));
  all.request(request("createToken", { body: { ticket: "tick-1" } }, answered({ token: "g", user: "ada" })));
  expect(lines).toEqual([
    { action: "login", result: "ok", user: "ada", method: "password", address },
    { action: "login", result: "ok", user: "bob", method: "ssh-key", address },
    { action: "login", result: "ok", user: "ada", method: "link", address },
  ]);
  for (const secret of ["hunter2", "a.b.c", "AAAA", "signed", "tick-1", "challenge-7"])
    expect(JSON.stringify(lines)).not.toContain(secret);
});

test("a refused login names only known users, since others may be passwords", async () => {
  const { lines, all } = auditor({ isAccount: async (name) => name === "daemon" });
  const refuse = async (username: string) => {
    all.request(request("createToken", { body: { username, password: "x" } }, failed("invalid_credentials")));
    // The system is asked whether the user exists.
    await new Promise(setImmediate);
  };
  await refuse("ada");
  await refuse("my password");
  await refuse("daemon");
  all.request(
    request("passwordLogin", { body: { userId: "eve", password: "y" } }, answered({ userId: "eve" })),
  );
  await refuse("eve");
  expect(lines.map(({ user, result }) => [user, result])).toEqual([
    ["ada", "refused"],
    [undefined, "refused"],
    ["daemon", "refused"],
    ["eve", "ok"],
    ["eve", "refused"],
  ]);
  expect(JSON.stringify(lines)).not.toContain("my password");
});

test("the system is asked about no names that nobody checked", async () => {
  const asked: string[] = [];
  const { lines, all } = auditor({ isAccount: async (name) => asked.push(name) > 0 });
  for (const code of ["rate_limited", "password_disabled"] as const)
    all.request(request("createToken", { body: { username: "daemon", password: "x" } }, failed(code)));
  await new Promise(setImmediate);
  expect(lines.map(({ user, details }) => [user, details?.code])).toEqual([
    [undefined, "rate_limited"],
    [undefined, "password_disabled"],
  ]);
  expect(asked).toEqual([]);
});

test("a created session has its command and directory, without its environment", () => {
  const { lines, all } = auditor();
  const body = { command: "ls -l", env: { API_KEY: "env-secret" }, cwd: "/" };
  const record = { id: "s1", name: "ls (/)", command: ["/bin/sh", "-lc", "ls -l"], cwd: "/", owner: "ada" };
  all.request(request("createSession", { body }, answered(record), ADA));
  all.request(request("createSession", { body }, failed("invalid_cwd"), ADA));
  expect(lines).toMatchObject([
    {
      ...{ action: "session.create", result: "ok", user: "ada", session: "s1" },
      details: { command: ["/bin/sh", "-lc", "ls -l"], cwd: "/", name: "ls (/)", owner: "ada" },
    },
    { action: "session.create", result: "failed", details: { command: ["ls -l"], code: "invalid_cwd" } },
  ]);
  expect(JSON.stringify(lines)).not.toContain("env-secret");
});

test("ending and removing a session are different actions", () => {
  const { lines, all } = auditor();
  for (const status of ["exited", "removed"])
    all.request(request("deleteSession", { params: { id: "s1" } }, answered({ success: true, status }), ADA));
  expect(lines.map(({ action }) => action)).toEqual(["session.end", "session.remove"]);
});

test("input and views are recorded once in ten minutes per user, session and view", () => {
  const { lines, all, pass } = auditor();
  const type = (id: string, user = "ada") =>
    all.request(
      request("inputSession", { params: { id }, body: { text: "typed" } }, answered(), { ...ADA, user }),
    );
  for (let count = 0; count < 100; count++) type("s1");
  type("s2");
  type("s1", "bob");
  const client = all.client({ principal: ADA, address });
  for (let count = 0; count < 100; count++) client({ kind: "type", sessionId: "s1" });
  for (let count = 0; count < 100; count++) client({ kind: "subscribe", sessionId: "s1" });
  expect(lines.map(({ action, session, user }) => [action, session, user])).toEqual([
    ["session.input", "s1", "ada"],
    ["session.input", "s2", "ada"],
    ["session.input", "s1", "bob"],
    ["session.view", "s1", "ada"],
  ]);
  pass(600_000);
  client({ kind: "type", sessionId: "s1" });
  expect(lines).toHaveLength(5);
  expect(JSON.stringify(lines)).not.toContain('typed"');
});

test("the addresses of an IPv6 /64 are recorded as one, also where their calls are beyond the limit", () => {
  const { lines, all } = auditor();
  const guest: Principal = {
    ...{ user: "guest-1", method: "share" },
    rights: { kind: "invited", session: { id: "s1", key: "k" }, mode: "view" },
  };
  for (let count = 0; count < 1_000; count++) {
    const from = `2001:db8::${count.toString(16)}`;
    all.request({ ...request("listSessions", undefined, failed("rate_limited"), guest), address: from });
    all.client({ principal: guest, address: from })({ kind: "subscribe", sessionId: "s1" });
  }
  expect(lines.map(({ action, result }) => [action, result])).toEqual([
    ["share.use", "ok"],
    ["request", "refused"],
    ["session.view", "ok"],
  ]);
});

test("the same signal is recorded once in ten minutes per session, however often a client sends it", () => {
  const { lines, all, pass } = auditor();
  const client = all.client({ principal: ADA, address });
  const send = (sessionId: string, signal: "SIGWINCH" | "SIGKILL") =>
    client({ kind: "signal", sessionId, signal });
  for (let count = 0; count < 1_000; count++) send("s1", "SIGWINCH");
  send("s1", "SIGKILL");
  send("s2", "SIGWINCH");
  expect(lines.map(({ session, details }) => [session, details?.signal])).toEqual([
    ["s1", "SIGWINCH"],
    ["s1", "SIGKILL"],
    ["s2", "SIGWINCH"],
  ]);
  pass(600_000);
  send("s1", "SIGWINCH");
  expect(lines).toHaveLength(4);
});

test("refused actions of a WebSocket client are recorded; input after a session's end is not", () => {
  const { lines, all } = auditor();
  const guest: Principal = {
    ...{ user: "guest-1", method: "share" },
    rights: { kind: "invited", session: { id: "s1", key: "k" }, mode: "view" },
  };
  const client = all.client({ principal: guest, address });
  client({ kind: "type", sessionId: "s1" }, new ServiceError("forbidden", "no"));
  client({ kind: "type", sessionId: "s1" }, new ServiceError("session_not_running", "no"));
  client({ kind: "signal", sessionId: "s1", signal: "SIGKILL" }, new ServiceError("forbidden", "no"));
  client({ kind: "subscribe", sessionId: "s2" }, new ServiceError("session_not_found", "no"));
  client({ kind: "signal", sessionId: "s1", signal: "SIGHUP" });
  expect(lines).toMatchObject([
    { action: "session.input", result: "refused", user: "guest-1", details: { code: "forbidden" } },
    { action: "session.kill", result: "refused", details: { code: "forbidden", signal: "SIGKILL" } },
    { action: "session.view", result: "failed", session: "s2", details: { code: "session_not_found" } },
    { action: "session.kill", result: "ok", details: { signal: "SIGHUP" } },
  ]);
});

test("a caller who authenticates each request is recorded once a day", () => {
  const { lines, all, pass } = auditor();
  const ask = (principal: Principal) => all.request(request("listSessions", {}, answered([]), principal));
  const proxied: Principal = { user: "eve@example.com", method: "proxy", rights: OWN };
  const guest: Principal = {
    ...{ user: "guest-1", method: "share" },
    rights: { kind: "invited", session: { id: "s1", key: "k" }, mode: "type" },
  };
  for (let count = 0; count < 10; count++) {
    ask(proxied);
    ask(guest);
    ask({ ...guest, method: "ticket" });
    ask(ADA);
    ask({ ...ADA, method: "socket" });
  }
  expect(lines).toMatchObject([
    { action: "login", result: "ok", user: "eve@example.com", method: "proxy", address },
    { action: "share.use", result: "ok", user: "guest-1", session: "s1", details: { mode: "type" } },
  ]);
  pass(86_400_000);
  ask(proxied);
  expect(lines).toHaveLength(3);
});

test("a request without a proof is not recorded as refused, one with a wrong proof is", () => {
  const { lines, all } = auditor();
  const early = request("listSessions", undefined, failed("unauthorized"));
  all.request({ ...early, hasProof: false });
  expect(lines).toEqual([]);
  all.request(early);
  expect(lines).toMatchObject([
    { action: "request", result: "refused", address, details: { code: "unauthorized" } },
  ]);
});

test("refused origins and hosts are recorded with their names", () => {
  const { lines, all } = auditor();
  all.request(request(undefined, undefined, failed("origin_not_allowed")));
  all.request(request(undefined, undefined, failed("not_found")));
  expect(lines).toMatchObject([
    { details: { code: "origin_not_allowed", request: "POST /api/x", origin: "https://o", host: "h" } },
  ]);
});

test("a remote's registration and removal are recorded, its refresh once", () => {
  const { lines, all } = auditor();
  const body = { id: "r1", name: "worker-1", url: "https://w", token: "machine-token" };
  const register = (lastHeartbeat: string) =>
    all.request(
      request("registerRemote", { body }, answered({ remote: { registeredAt: "1", lastHeartbeat } }), ADA),
    );
  register("1");
  for (let minute = 2; minute < 60; minute++) register(`${minute}`);
  all.request(request("removeRemote", { params: { id: "r1" } }, answered(), ADA));
  expect(lines.map(({ action, remote }) => [action, remote])).toEqual([
    ["remote.register", "worker-1"],
    ["remote.refresh", "worker-1"],
    ["remote.remove", undefined],
  ]);
  expect(JSON.stringify(lines)).not.toContain("machine-token");
});

test("a remote that registers, leaves and joins without end has a few lines a minute, and others keep theirs", () => {
  const { lines, all } = auditor();
  const credentialOf = (name: string): Principal => ({
    ...{ user: name, method: "remote", rights: { kind: "remote", id: `id of ${name}`, name } },
  });
  const register = (name: string, url: string, lastHeartbeat: string) => {
    const body = { id: `id of ${name}`, name, url, token: "machine-token" };
    const answer = answered({ remote: { registeredAt: "1", lastHeartbeat } });
    all.request(request("registerRemote", { body }, answer, credentialOf(name)));
  };
  register("quiet", "https://q", "2");
  for (let count = 0; count < 20_000; count++) {
    register("loud", "https://l", "1");
    register("loud", `https://l-${count}`, "2");
    const params = { id: "id of loud" };
    all.request(request("removeRemote", { params }, answered(), credentialOf("loud")));
    const joined = answered({ remoteId: `key ${count}`, enrolled: true });
    all.request(request("joinRemote", { body: { name: "loud" } }, joined));
  }
  register("quiet", "https://q", "3");
  all[Symbol.dispose]();
  expect(lines.map(({ action, remote, details }) => [action, remote, details?.times])).toEqual([
    ["remote.refresh", "quiet", undefined],
    ["remote.register", "loud", undefined],
    ["remote.refresh", "loud", undefined],
    ["remote.remove", undefined, undefined],
    ["remote.join", "loud", undefined],
    ["remote.register", "loud", 19_999],
    ["remote.refresh", "loud", 19_999],
    ["remote.remove", undefined, 19_999],
    ["remote.join", "loud", 19_999],
  ]);
});

test("a forwarded request is recorded as its action on the remote", () => {
  const { lines, all } = auditor();
  const send = (method: string, path: string[], body: unknown, status: number) => {
    const endpoint = method === "GET" ? "proxyGet" : method === "POST" ? "proxyPost" : "proxyDelete";
    const input = { params: { name: "worker-1", path }, body };
    all.request({ ...request(endpoint, input, answered({ status, body: [] }), ADA), method });
  };
  send("GET", ["sessions", "s1", "recording"], {}, 200);
  send("POST", ["api", "sessions", "s1", "kill"], { signal: "SIGKILL" }, 200);
  send("POST", ["sessions", "s1", "input"], { text: "typed-text" }, 403);
  send("POST", ["worktrees"], { repoPath: "/r" }, 201);
  send("GET", ["sessions"], {}, 200);
  expect(lines).toMatchObject([
    { action: "session.view", session: "s1", remote: "worker-1", details: { view: "recording" } },
    { action: "session.kill", session: "s1", remote: "worker-1", details: { signal: "SIGKILL" } },
    { action: "session.input", result: "failed", details: { code: "remote_status_403" } },
    { action: "remote.request", remote: "worker-1", details: { method: "POST", path: "worktrees" } },
  ]);
  expect(JSON.stringify(lines)).not.toContain("typed-text");
});

test("a forwarded download is recorded with its path and size, as a direct one", () => {
  const { lines, all } = auditor();
  const params = { name: "worker-1", path: ["sessions", "s1", "files"] };
  const input = { params, query: { path: "/etc/hosts" } };
  all.request({
    ...request("proxyGet", input, answered({ status: 200, length: 42, body: [] }), ADA),
    method: "GET",
  });
  expect(lines).toMatchObject([
    { action: "file.download", session: "s1", remote: "worker-1", details: { path: "/etc/hosts", size: 42 } },
  ]);
});

test("on an HQ each line names the session's remote, also just after the session was removed", async () => {
  const sessions = new Map([["s1", "worker-1"]]);
  const { lines, all } = auditor({ remoteOf: async (id) => sessions.get(id) });
  all.client({ principal: ADA, address })({ kind: "subscribe", sessionId: "s1" });
  await Promise.resolve();
  sessions.clear();
  all.request(request("deleteSession", { params: { id: "s1" } }, answered({ status: "removed" }), ADA));
  await Promise.resolve();
  expect(lines).toMatchObject([
    { action: "session.view", remote: "worker-1" },
    { action: "session.remove", remote: "worker-1" },
  ]);
});

test("each line has its request's id, also if the remote is looked up first", async () => {
  const { lines, all } = auditor({ remoteOf: async () => "worker-1" });
  const checkOf = request("deleteSession", { params: { id: "s1" } }, answered({ status: "removed" }), ADA);
  inTrace({ requestId: "request-1" }, () => all.request(checkOf));
  inTrace({ requestId: "request-2" }, () => all.request({ ...checkOf, outcome: failed("forbidden") }));
  inTrace({ requestId: "handshake-3" }, () =>
    all.client({ principal: ADA, address })({ kind: "subscribe", sessionId: "s1" }),
  );
  all.client({ principal: ADA, address })({ kind: "signal", sessionId: "s1", signal: "SIGHUP" });
  await new Promise(setImmediate);
  expect(lines.map(({ result, requestId }) => [result, requestId])).toEqual([
    ["ok", "request-1"],
    ["refused", "request-2"],
    ["ok", "handshake-3"],
    ["ok", undefined],
  ]);
});
