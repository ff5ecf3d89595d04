// The audit log: who did what to which session, from where, and with which result.
import { chmod, mkdtempDisposable, rename, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { eventually } from "../../packages/testing/src/wait.ts";
import { FrameType } from "../../src/protocol/frame/frame.ts";
import { SubscribeFlag } from "../../src/protocol/frame/payload.ts";
import { AuditLog, type Line } from "./harness/audit-log.ts";
import { ttyhq } from "./harness/command.ts";
import { ask, shakeHands } from "./harness/http.ts";
import { knownToken } from "./harness/known-logins.ts";
import { askAs, bearer, logIn, PASSWORD, passwordServer, USERNAME } from "./harness/password-server.ts";
import { People } from "./harness/people.ts";
import { RawSocket } from "./harness/raw-socket.ts";
import { TestFleet } from "./harness/test-fleet.ts";
import { TestServer } from "./harness/test-server.ts";

const LOOPBACK = "127.0.0.1";

const named = ({ action, result, session }: Line) => [
  action,
  result,
  ...(session === undefined ? [] : [session]),
];

test("each action leaves a line with its user and address", async () => {
  await using server = await passwordServer("inline");
  const audit = new AuditLog(server.controlDir);
  await ask(server.url, "/api/auth/token", { body: { password: "wrong" } });
  const token = await logIn(server);
  const id = "audited";
  const of = (path: string, question = {}) => askAs(token, server, `/api/sessions/${id}${path}`, question);
  await askAs(token, server, "/api/sessions", {
    body: { id, command: ["cat", "-u"], env: { KEY: "v" }, cwd: "/" },
  });
  await of("", { method: "PATCH", body: { name: "new name" } });
  await of("/text");
  await of("/input", { body: { text: "typed" } });
  await of("/resize", { body: { cols: 90, rows: 30 } });
  {
    await using socket = await RawSocket.open(server.url, { headers: bearer(token) });
    socket.subscribe(id, { flags: SubscribeFlag.Stdout });
    socket.send(FrameType.KILL, id, "SIGWINCH");
    await socket.settled();
  }
  const share = await of("/share", { body: { mode: "view" } });
  await ask(server.url, `/api/sessions/${id}`, { headers: bearer(share.json.token) });
  await of(`/shares/${share.json.id}`, { method: "DELETE" });
  await of("", { method: "DELETE" });
  await of("/recording?follow=0");
  await of("", { method: "DELETE" });
  await askAs(token, server, "/api/auth/logout", { method: "POST" });
  await audit.of("logout");
  const lines = await audit.lines();
  expect(lines.map(named)).toEqual([
    ["server.start", "ok"],
    ["login", "refused"],
    ["login", "ok"],
    ["session.create", "ok", id],
    ["session.rename", "ok", id],
    ["session.view", "ok", id],
    ["session.input", "ok", id],
    ["session.view", "ok", id],
    ["session.kill", "ok", id],
    ["share.create", "ok", id],
    ["share.use", "ok", id],
    ["share.revoke", "ok", id],
    ["session.end", "ok", id],
    ["session.view", "ok", id],
    ["session.remove", "ok", id],
    ["logout", "ok"],
  ]);
  const [, refused, ...others] = lines;
  expect(refused).toMatchObject({
    method: "password",
    address: LOOPBACK,
    details: { code: "invalid_credentials" },
  });
  for (const { action, user, address } of others) {
    expect([action, user, address]).toEqual([
      action,
      action === "share.use" ? `guest-${share.json.id}` : USERNAME,
      LOOPBACK,
    ]);
  }
  const details = (action: string) =>
    lines.filter((line) => line.action === action).map((line) => line.details);
  expect(details("session.create")).toMatchObject([{ command: ["cat", "-u"], cwd: "/" }]);
  expect(details("session.view")).toEqual([{ view: "text" }, { view: "socket" }, { view: "recording" }]);
  expect(details("session.kill")).toEqual([{ signal: "SIGWINCH" }]);
  expect(details("share.create")).toMatchObject([{ share: share.json.id, mode: "view" }]);
});

test("refusals of a guest are logged, over REST and over the socket", async () => {
  await using server = await passwordServer("inline");
  const token = await logIn(server);
  const { json } = await askAs(token, server, "/api/sessions", { body: { command: ["cat"] } });
  const share = await askAs(token, server, `/api/sessions/${json.id}/share`, { body: { mode: "view" } });
  const guest = bearer(share.json.token);
  await ask(server.url, `/api/sessions/${json.id}/kill`, { headers: guest, body: {} });
  await ask(server.url, "/api/clients", { headers: guest });
  {
    await using socket = await RawSocket.open(server.url, { headers: guest });
    socket.type(json.id, "typed by a guest");
    expect(await socket.errorCode()).toBe("forbidden");
  }
  const audit = new AuditLog(server.controlDir);
  const kill = await audit.of("session.kill", "refused");
  expect(kill).toMatchObject({
    user: `guest-${share.json.id}`,
    session: json.id,
    details: { code: "forbidden" },
  });
  expect(await audit.of("session.input", "refused")).toMatchObject({ session: json.id });
  const other = await audit.of("request", "refused");
  expect(other.details).toEqual({ code: "forbidden", request: "GET /api/clients" });
});

test("a foreign page, a foreign name and wrong credentials are logged, a thousand of them in a few lines", async () => {
  await using server = await passwordServer("inline");
  const origin = "https://evil.example";
  for (let count = 0; count < 500; count++) {
    await ask(server.url, "/api/sessions", { headers: { origin }, body: {} });
    await ask(server.url, "/api/sessions", { headers: bearer("guessed") });
  }
  await shakeHands(server.url, "/ws", { origin });
  const audit = new AuditLog(server.controlDir);
  const foreign = await audit.line(({ details }) => details?.code === "origin_not_allowed", "a foreign page");
  expect(foreign).toMatchObject({ address: LOOPBACK, details: { origin, request: "POST /api/sessions" } });
  await server.kill("SIGTERM");
  const lines = await audit.lines();
  // One for the first and one for the others of each minute: a busy machine may need several minutes.
  expect(lines.length).toBeLessThan(20);
  const told = (code: string) =>
    lines
      .filter(({ details }) => details?.code === code)
      .reduce((count, { details }) => count + Number(details?.times ?? 1), 0);
  expect([told("origin_not_allowed"), told("unauthorized")]).toEqual([501, 500]);
});

test("brute force leaves a line, a count and no typed name", async () => {
  await using server = await passwordServer("inline");
  for (let count = 0; count < 30; count++) {
    const body = { username: `hunter${count}`, password: "x" };
    await ask(server.url, "/api/auth/token", { body });
  }
  await server.kill("SIGTERM");
  const audit = new AuditLog(server.controlDir);
  const refused = (await audit.lines()).filter(({ action }) => action === "login");
  expect(refused.map(({ details }) => [details?.code, details?.times])).toEqual([
    ["invalid_credentials", undefined],
    ["rate_limited", undefined],
    ["invalid_credentials", 9],
    ["rate_limited", 19],
  ]);
  expect(await audit.text()).not.toContain("hunter");
});

test("only its owner reads the log, which continues after a restart and has the actions before a crash", async () => {
  await using server = await passwordServer("inline", { asProcess: true });
  const audit = new AuditLog(server.controlDir);
  await logIn(server);
  await audit.of("login");
  await server.kill("SIGKILL");
  await chmod(audit.path, 0o644);
  await server.restart();
  await server.kill("SIGTERM");
  expect((await audit.lines()).map(({ action }) => action)).toEqual([
    ...["server.start", "login"],
    ...["server.start", "server.stop"],
  ]);
  expect((await stat(audit.path)).mode & 0o777).toBe(0o640);
  expect(await verified(server)).toMatch(/^sequences 1 to 4 are unbroken in 1 file; sealed up to 4$/m);
});

test("changes of the log while the server is down are found, and stay recorded in it", async () => {
  await using server = await passwordServer("inline", { asProcess: true });
  const audit = new AuditLog(server.controlDir);
  await logIn(server);
  await audit.of("login");
  await audit.sealed();
  await server.kill("SIGKILL");
  const [start = ""] = (await audit.text()).split("\n");
  await writeFile(audit.path, `${start}\n`);
  await server.restart();
  expect((await audit.of("audit.break", "failed")).details?.reason).toMatch(/sequence 2 is missing/);
  expect(await verified(server)).toMatch(
    /audit\.log:2: the server found at its start: .*sequence 2 is missing/,
  );
});

async function verified({ controlDir }: TestServer): Promise<string> {
  return (await ttyhq(["audit", "verify", "--control-dir", controlDir])).stdout;
}

test("another file may be named, moved away, and must be one that can be written", async () => {
  await using folder = await mkdtempDisposable(join(tmpdir(), "ttyhq-audit-"));
  const path = join(folder.path, "who.jsonl");
  await using server = await passwordServer("inline", { args: ["--audit-log", path] });
  const audit = new AuditLog(server.controlDir, path);
  await audit.of("server.start");
  expect((await stat(path)).mode & 0o777).toBe(0o600);
  await expect(stat(join(server.controlDir, "audit.log"))).rejects.toThrow("ENOENT");
  await rename(path, `${path}.1`);
  const isThere = () => stat(path).catch(() => undefined);
  await eventually(async () => {
    await logIn(server);
    return await isThere();
  }, "a new file");
  await audit.of("login");
  const bad = await ttyhq([
    "serve",
    "--no-auth",
    "--port",
    "0",
    "--control-dir",
    folder.path,
    "--audit-log",
    folder.path,
  ]);
  expect([bad.code, bad.stderr]).toEqual([
    1,
    expect.stringMatching(/cannot write the audit log .*--audit-log/),
  ]);
});

test("actions through the machine's own socket are logged without an address", async () => {
  await using server = await passwordServer("inline");
  await ttyhq(["login-link", "--control-dir", server.controlDir]);
  const line = await new AuditLog(server.controlDir).of("login-link.create");
  expect(line).toMatchObject({ method: "socket" });
  expect(line).not.toHaveProperty("address");
});

test("on an HQ each line says on which machine it was, and machines come and go", async () => {
  await using fleet = await TestFleet.start({ isGuarded: true });
  const audit = new AuditLog(fleet.hq.controlDir);
  expect(await audit.of("remote.register")).toMatchObject({ remote: "worker-1", method: "basic" });
  const { id } = await fleet.create("worker-1", { command: ["cat"] });
  await fleet.ask(`/api/sessions/${id}/input`, { body: { text: "typed" } });
  await fleet.ask(`/api/remotes/worker-1/proxy/sessions/${id}/text`);
  await fleet.ask(`/api/sessions/${id}`, { method: "DELETE" });
  for (const action of ["session.create", "session.input", "session.view", "session.end"]) {
    expect(await audit.of(action)).toMatchObject({ session: id, remote: "worker-1", address: LOOPBACK });
  }
  // Its own log names the HQ as the actor.
  const there = new AuditLog(fleet.remote("worker-1").controlDir);
  expect(await there.of("session.create")).toMatchObject({ session: id, method: "hq" });
  await fleet.remote("worker-1").kill("SIGTERM");
  expect(await audit.of("remote.remove")).toMatchObject({ method: "basic" });
  expect(await audit.text()).not.toMatch(/token/i);
});

test("a name or a command of whatever characters makes one line", async () => {
  await using server = await TestServer.start({ args: ["--no-auth", "--session-host", "inline"] });
  const name = 'a\n{"action":"login","result":"ok"}\u001b[2J\u009b\u2028\u202e';
  const command = ["true", name, "x".repeat(4_000)];
  await ask(server.url, "/api/sessions", { body: { id: "odd", command, name } });
  const audit = new AuditLog(server.controlDir);
  expect((await audit.of("session.create")).details).toMatchObject({
    name,
    command: ["true", name, /^x{1024}…$/],
  });
  expect((await audit.lines()).filter(({ action }) => action === "login")).toEqual([]);
  expect((await audit.text()).replaceAll("\n", "")).not.toMatch(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/u);
});

test(`nothing of a password is written: ${PASSWORD}`, async () => {
  await using server = await passwordServer("inline");
  await logIn(server);
  expect(await new AuditLog(server.controlDir).of("login")).toEqual({
    ...{ seq: 2, prev: expect.any(String), time: expect.any(String), action: "login", result: "ok" },
    ...{ user: USERNAME, method: "password", address: LOOPBACK, requestId: expect.any(String) },
  });
});

test("an auditor reads the log by REST and on the command line, which the log tells; a user does not", async () => {
  await using people = await People.make();
  const roles = ["--role", `${people.one}=auditor`, "--role", `${people.other}=user`];
  await using server = await people.server({ args: ["--session-host", "inline", ...roles] });
  await logIn(server);
  const grace = knownToken(people.one);
  const since = new Date(Date.now() - 60_000).toISOString();
  const path = `/api/audit?action=login&since=${since}&user=${USERNAME}`;
  const audit = new AuditLog(server.controlDir);
  await audit.of("login");
  const { status, json } = await askAs(grace, server, path);
  expect([status, json.entries]).toEqual([200, [expect.objectContaining({ action: "login", result: "ok" })]]);
  expect(json.entries[0]).not.toHaveProperty("prev");
  const read = await audit.of("audit.read");
  expect(read).toMatchObject({ user: people.one, details: { since, action: "login", user: USERNAME } });
  expect((await askAs(knownToken(people.other), server, path)).json.code).toBe("forbidden");
  await audit.line(
    ({ action, result }) => action === "audit.read" && result === "refused",
    "a refused reader",
  );

  const of = (...args: readonly string[]) =>
    ttyhq(["audit", "list", "--url", server.url, ...args], { TTYHQ_TOKEN: grace });
  const { code, stdout } = await of("--action", "login", "--since", "1h", "--json");
  expect([code, JSON.parse(stdout)]).toEqual([0, [expect.objectContaining({ user: USERNAME })]]);
  expect((await of("--user", USERNAME)).stdout).toMatch(/TIME .*ACTION.*\n.*login +ok/);
});
