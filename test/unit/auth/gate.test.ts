import { mkdtempDisposable, readdir } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test, vi } from "vitest";
import { Accounts } from "../../../src/auth/accounts/accounts.ts";
import { createGate, type GateOptions } from "../../../src/auth/gate.ts";
import { openFactorFile } from "../../../src/auth/passkey/factor-store.ts";
import { ALL } from "../../../src/auth/roles.ts";
import { openFileRecords } from "../../../src/auth/tokens/file-records.ts";
import { Secret } from "../../../src/lib/secret.ts";
import { createLogger } from "../../../src/log.ts";
import { BARE } from "./request-claims.ts";

const LOGIN = {
  mode: "login",
  password: { kind: "configured", username: "admin", password: Secret.fromText("right") },
  ...{ sshKeys: false, loginLink: false, allowUsers: [], adminUsers: [] },
  ...{ identity: undefined, localBypass: undefined, roles: [] },
  ...{ requireSecondFactor: false, idleTimeoutMs: undefined },
} as const;
const address = "10.0.0.1";

async function scratch() {
  const directory = await mkdtempDisposable(join(tmpdir(), "ttyhq-gate-"));
  const secretFile = join(directory.path, "jwt-secret");
  const log = createLogger({ level: "silent", destination: { write: () => {} } });
  const accounts = new Accounts(() => performance.now());
  const path = join(directory.path, "logins.json");
  const openRecords = () => openFileRecords({ path, now: () => Date.now(), log });
  /** A server started on this control directory. */
  const open = (config: GateOptions["config"], tokenSecret?: Secret, more: Partial<GateOptions> = {}) =>
    createGate({
      ...{
        config,
        openFactors: () => openFactorFile(join(directory.path, "passkeys.json")),
        proxyProof: Secret.fromText("p"),
        serverUser: "me",
        serverHome: "/",
        isRoot: false,
        tokenSecret,
        secretFile,
        openRecords,
        log,
        accounts,
      },
      ...more,
    });
  return { path: directory.path, open, [Symbol.asyncDispose]: () => directory.remove() };
}

const claims = (token: string) => ({ ...BARE, authorization: `Bearer ${token}` });

test("a token from a password works, also after a restart, until it is revoked", async () => {
  await using place = await scratch();
  const first = await place.open(LOGIN);
  const { token } = await first.login.withPassword({ password: "right", address });
  const restarted = await place.open(LOGIN);
  const principal = await restarted.authenticate(claims(token));
  expect(principal.user).toBe("admin");
  await restarted.tokens.revoke(principal);
  const third = await place.open(LOGIN);
  await expect(third.authenticate(claims(token))).rejects.toMatchObject({ code: "unauthorized" });
});

test("a token issued without login is invalid once the server has a login", async () => {
  await using place = await scratch();
  const given = Secret.fromText("g".repeat(32));
  for (const tokenSecret of [undefined, given]) {
    const open = await place.open({ mode: "none", isPasswordDisallowed: false }, tokenSecret);
    const { token } = await open.login.withPassword({ address });
    expect((await open.authenticate(claims(token))).method).toBe("none");
    const closed = await place.open(LOGIN, tokenSecret);
    await expect(closed.authenticate(claims(token))).rejects.toMatchObject({ code: "unauthorized" });
  }
});

test("a server without login writes no secret", async () => {
  await using place = await scratch();
  await place.open({ mode: "none", isPasswordDisallowed: false });
  expect(await readdir(place.path)).toEqual([]);
});

test("a ticket authenticates its buyer on a socket", async () => {
  await using place = await scratch();
  const gate = await place.open(LOGIN);
  const { token } = await gate.login.withLink({ ticket: await gate.links.issue("me"), address });
  const queryToken = await gate.tickets.issue(await gate.authenticate(claims(token)));
  const principal = await gate.authenticate({ ...BARE, queryToken, place: "websocket" });
  expect(principal).toMatchObject({ user: "me", method: "ticket" });
});

const basic = (pair: string) => `Basic ${Buffer.from(pair).toString("base64")}`;
const hqCredentials = { username: "admin", password: Secret.fromText("right") };
const refused = { code: "unauthorized" };

test("an HQ accepts its pair as Basic and a token; another server accepts only a token", async () => {
  await using place = await scratch();
  const authorization = basic("admin:right");
  const hq = await place.open(LOGIN, undefined, { hqCredentials });
  expect(await hq.authenticate({ ...BARE, authorization })).toEqual({
    user: "admin",
    method: "basic",
    rights: ALL,
  });
  const { token } = await hq.login.withPassword({ password: "right", address });
  expect((await hq.authenticate(claims(token))).method).toBe("token");
  await expect(hq.authenticate({ ...BARE, authorization: basic("admin:x") })).rejects.toMatchObject(refused);
  const other = await place.open(LOGIN);
  await expect(other.authenticate({ ...BARE, authorization })).rejects.toMatchObject(refused);
});

test("a ticket works on an HQ beside a proxy's own Basic header", async () => {
  await using place = await scratch();
  const hq = await place.open(LOGIN, undefined, { hqCredentials });
  const queryToken = await hq.tickets.issue({ user: "admin", method: "token", rights: ALL });
  const request = { ...BARE, authorization: basic("proxy:x"), queryToken, place: "websocket" } as const;
  expect((await hq.authenticate(request)).method).toBe("ticket");
});

test("failed logins and failed Basic headers are counted together", async () => {
  await using place = await scratch();
  const hq = await place.open(LOGIN, undefined, { hqCredentials });
  for (let count = 0; count < 5; count++) {
    await expect(hq.login.withPassword({ password: "x", address })).rejects.toThrow();
    await expect(hq.authenticate({ ...BARE, authorization: basic("admin:x") })).rejects.toMatchObject(
      refused,
    );
  }
  const limited = { code: "rate_limited" };
  await expect(hq.login.withPassword({ password: "right", address })).rejects.toMatchObject(limited);
  await expect(hq.authenticate({ ...BARE, authorization: basic("admin:right") })).rejects.toMatchObject(
    limited,
  );
});

test("an HQ without credentials lets remotes join but requires a login for everything else", async () => {
  await using place = await scratch();
  const hq = await place.open(LOGIN, undefined, { openRegistration: true });
  for (const authorization of [undefined, basic("any:thing")]) {
    const joining = { ...BARE, authorization, place: "registry" } as const;
    expect(await hq.authenticate(joining)).toEqual({ user: "me", method: "none", rights: ALL });
    for (const elsewhere of ["api", "websocket", "event-stream"] as const) {
      await expect(hq.authenticate({ ...joining, place: elsewhere })).rejects.toMatchObject(refused);
    }
  }
  const closed = await place.open(LOGIN);
  await expect(closed.authenticate({ ...BARE, place: "registry" })).rejects.toMatchObject(refused);
});

test("a remote authenticates its HQ by the token of this start, with and without login", async () => {
  await using place = await scratch();
  const token = "m".repeat(43);
  const more = { machineToken: Secret.fromText(token) };
  for (const mode of [LOGIN, { mode: "none", isPasswordDisallowed: false }] as const) {
    const remote = await place.open(mode, undefined, more);
    expect(await remote.authenticate(claims(token))).toEqual({ user: "me", method: "hq", rights: ALL });
    const restarted = await place.open(mode, undefined, { machineToken: Secret.fromText("n".repeat(43)) });
    const again = restarted.authenticate(claims(token));
    if (mode.mode === "none") expect((await again).method).toBe("none");
    else await expect(again).rejects.toMatchObject(refused);
  }
});

test("what is open ends when its user has left the group that gave the role", async () => {
  await using place = await scratch();
  const accounts = new Accounts(() => performance.now());
  const account = { name: "ada", uid: 1000, gid: 1000, home: "/", shell: "/bin/sh" };
  vi.spyOn(accounts, "status").mockResolvedValue({ account });
  const groups = vi.spyOn(accounts, "groups").mockResolvedValue(["ops"]);
  const roles = [{ group: "ops", role: "operator" }] as const;
  const config = { ...LOGIN, sshKeys: true, roles, allowUsers: ["ada"] };
  const gate = await place.open(config, Secret.fromText("s".repeat(32)), { accounts, isRoot: true });
  vi.useFakeTimers();
  onTestFinished(() => void vi.useRealTimers());
  const { token } = await gate.tokens.issue("ada", "ssh-key", { address });
  const principal = await gate.authenticate(claims(token));
  expect(principal.rights).toMatchObject({ role: "operator" });
  const reasons: string[] = [];
  using _watch = gate.whenOver(principal, (reason) => reasons.push(reason));
  await vi.advanceTimersByTimeAsync(60_000);
  expect(reasons).toEqual([]);
  groups.mockResolvedValue([]);
  await vi.advanceTimersByTimeAsync(60_000);
  expect(reasons).toEqual(["role changed"]);
});
