import { mkdtempDisposable, readdir } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { createGate, type GateOptions } from "../../../src/auth/gate.ts";
import { Secret } from "../../../src/lib/secret.ts";
import { createLogger } from "../../../src/log.ts";

const LOGIN = {
  mode: "login",
  password: { username: "admin", password: Secret.fromText("right") },
  allowUsers: [],
} as const;
const address = "10.0.0.1";

async function scratch() {
  const directory = await mkdtempDisposable(join(tmpdir(), "ttyhq-gate-"));
  const files = {
    secret: join(directory.path, "jwt-secret"),
    revokedTokens: join(directory.path, "revoked-tokens.json"),
  };
  const log = createLogger({ level: "silent", destination: { write: () => {} } });
  /** A server started on this control directory. */
  const open = (mode: GateOptions["mode"], tokenSecret?: Secret) =>
    createGate({ mode, serverUser: "me", tokenSecret, files, log });
  return { path: directory.path, open, [Symbol.asyncDispose]: () => directory.remove() };
}

const facts = (token: string) =>
  ({ authorization: `Bearer ${token}`, queryToken: undefined, place: "api" }) as const;

test("a token from a password works, also after a restart, until it is revoked", async () => {
  await using place = await scratch();
  const first = await place.open(LOGIN);
  const { token } = await first.login.withPassword({ password: "right", address });
  const restarted = await place.open(LOGIN);
  const principal = await restarted.authenticate(facts(token));
  expect(principal.user).toBe("admin");
  await restarted.tokens.revoke(principal);
  const third = await place.open(LOGIN);
  await expect(third.authenticate(facts(token))).rejects.toMatchObject({ code: "unauthorized" });
});

test("a token that anyone got without a login is worth nothing once there is one", async () => {
  await using place = await scratch();
  const given = Secret.fromText("g".repeat(32));
  for (const tokenSecret of [undefined, given]) {
    const open = await place.open({ mode: "none" }, tokenSecret);
    const { token } = await open.login.withPassword({ address });
    expect((await open.authenticate(facts(token))).method).toBe("none");
    const closed = await place.open(LOGIN, tokenSecret);
    await expect(closed.authenticate(facts(token))).rejects.toMatchObject({ code: "unauthorized" });
  }
});

test("without a login nothing secret is written", async () => {
  await using place = await scratch();
  await place.open({ mode: "none" });
  expect(await readdir(place.path)).toEqual([]);
});

test("a ticket stands for its buyer on a socket", async () => {
  await using place = await scratch();
  const gate = await place.open(LOGIN);
  const { token } = await gate.login.withLink({ ticket: gate.links.issue("me"), address });
  const queryToken = gate.tickets.issue(await gate.authenticate(facts(token)));
  const principal = await gate.authenticate({ authorization: undefined, queryToken, place: "websocket" });
  expect(principal).toMatchObject({ user: "me", method: "ticket" });
});
