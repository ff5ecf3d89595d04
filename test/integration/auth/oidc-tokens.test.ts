// A provider's tokens count only if they are signed by it, for this server, for this login, and now.
import { createHmac, generateKeyPairSync } from "node:crypto";
import jwt from "jsonwebtoken";
import { expect, test } from "vitest";
import { eventually } from "../../../packages/testing/src/wait.ts";
import { CLIENT_SECRET } from "../harness/login-provider.ts";
import type { TlsClient } from "../harness/tls-client.ts";
import { useOidcStage } from "./oidc-stage.ts";

const stage = useOidcStage();

const now = (): number => Math.floor(Date.now() / 1000);

/** The log lines with the reason for a rejected token. */
function refusals(): readonly string[] {
  const lines = stage().server.log.split("\n").slice(0, -1);
  return lines.filter((line) => line.includes("login refused"));
}

/** Tries to log in; returns the reason in the log. */
async function refusedBecause(client: TlsClient): Promise<string> {
  const before = refusals().length;
  const page = await stage().logIn(client);
  expect([page.status, page.text]).toEqual([403, expect.stringContaining("The provider did not log you in")]);
  return JSON.parse(await eventually(async () => refusals()[before], "the reason")).because;
}

const { privateKey: strangersKey } = generateKeyPairSync("rsa", { modulusLength: 2048 });

type Bend = (claims: Record<string, unknown>) => Record<string, unknown>;

test.each<[string, string, Bend]>([
  ["for another client", '"aud"', (claims) => ({ ...claims, aud: "somebody else" })],
  [
    "for several clients, given to another one of them",
    '"azp"',
    (claims) => ({ ...claims, aud: ["ttyhq", "x"], azp: "x" }),
  ],
  ["for nobody", '"aud"', ({ aud: _, ...claims }) => claims],
  ["of another issuer", '"iss"', (claims) => ({ ...claims, iss: "https://evil.example" })],
  ["of another login", '"nonce"', (claims) => ({ ...claims, nonce: "another nonce" })],
  ["of no login", '"nonce"', ({ nonce: _, ...claims }) => claims],
  ["of nobody", '"sub"', ({ sub: _, ...claims }) => claims],
  ["that has expired", '"exp"', (claims) => ({ ...claims, exp: now() - 60 })],
  ["that never expires", '"exp"', ({ exp: _, ...claims }) => claims],
  ["that is not yet good", '"nbf"', (claims) => ({ ...claims, nbf: now() + 120 })],
])("an ID token %s logs nobody in, because of %s", async (_, reason, bend) => {
  const at = stage();
  at.provider.bend = bend;
  const client = at.stranger();
  expect(await refusedBecause(client)).toContain(reason);
  expect(await at.isLoggedIn(client)).toBe(false);
});

test.each<[string, Bend]>([
  ["expired 20 s ago", (claims) => ({ ...claims, exp: now() - 20 })],
  ["was made 20 s from now", (claims) => ({ ...claims, iat: now() + 20, nbf: now() + 20 })],
])("a provider whose clock is a little off may say that a token %s", async (_, bend) => {
  const at = stage();
  at.provider.bend = bend;
  const client = at.browser();
  expect((await at.logIn(client)).status).toBe(200);
  expect(await at.isLoggedIn(client)).toBe(true);
});

const part = (value: object): string => Buffer.from(JSON.stringify(value)).toString("base64url");
const claimsOf = (token: string): object => jwt.decode(token, { json: true }) ?? {};

test.each<[string, string, (token: string) => string]>([
  [
    "by another key",
    "signature",
    (token) => jwt.sign(claimsOf(token), strangersKey, { algorithm: "RS256", keyid: "first" }),
  ],
  [
    "by a key that it does not know",
    "no applicable keys",
    (token) => jwt.sign(claimsOf(token), strangersKey, { algorithm: "RS256", keyid: "x" }),
  ],
  ["by nobody", '"alg"', (token) => `${part({ alg: "none" })}.${part(claimsOf(token))}.`],
  [
    "with the client's secret",
    '"alg"',
    (token) => jwt.sign(claimsOf(token), CLIENT_SECRET, { algorithm: "HS256" }),
  ],
  ["with its public key for a secret", '"alg"', (token) => hmacWithPublicKey(claimsOf(token))],
  [
    "and changed since",
    "signature",
    (token) => token.replace(/\.([^.]*)\./, (_, body: string) => `.${changed(body)}.`),
  ],
  ["and cut", "signature", (token) => token.slice(0, -8)],
])("an ID token signed %s logs nobody in, because of %s", async (_, reason, forge) => {
  const at = stage();
  at.provider.forge = forge;
  const client = at.stranger();
  expect(await refusedBecause(client)).toContain(reason);
  expect(await at.isLoggedIn(client)).toBe(false);
});

function changed(body: string): string {
  const claims: Record<string, unknown> = JSON.parse(Buffer.from(body, "base64url").toString());
  return part({ ...claims, sub: "root" });
}

function hmacWithPublicKey(claims: object): string {
  const text = `${part({ alg: "HS256", kid: "first" })}.${part(claims)}`;
  return `${text}.${createHmac("sha256", stage().provider.publicKey).update(text).digest("base64url")}`;
}

test("the provider's userinfo about another user is ignored", async () => {
  const at = stage();
  at.provider.bend = (claims) => ({ ...claims, sub: "another subject" });
  expect((await at.logIn(at.stranger())).status).toBe(403);
});

test("nothing that the provider gave gets into the log, nor the client's secret", () => {
  const { log } = stage().server;
  for (const secret of ["eyJ", CLIENT_SECRET]) expect(log).not.toContain(secret);
  expect(log).toContain("login refused");
});
