import { expect, test } from "vitest";
import type { RequestClaims } from "../../../src/auth/chain.ts";
import { byLocalBypass } from "../../../src/auth/chain.ts";
import { Secret } from "../../../src/lib/secret.ts";
import { BARE } from "./request-claims.ts";

const LOCAL: RequestClaims = { ...BARE, peer: "127.0.0.1", address: "127.0.0.1", host: "localhost:4020" };
const bypass = byLocalBypass("me", undefined);
const withToken = byLocalBypass("me", Secret.fromText("a local token"));
const me = { user: "me", method: "local" };

test.each([
  "localhost",
  "localhost:4020",
  "127.0.0.1",
  "127.0.0.1:1",
  "[::1]:4020",
  "[::1]",
  "ttyhq.localhost",
  "LOCALHOST",
])("a request from this machine to %s is the server's own user", async (host) => {
  expect(await bypass({ ...LOCAL, host })).toEqual(me);
});

test.each<[string, Partial<RequestClaims>]>([
  ["from another machine", { peer: "192.0.2.1" }],
  ["from another machine that a proxy calls this one", { peer: "192.0.2.1", address: "127.0.0.1" }],
  ["over a unix socket", { peer: undefined }],
  ["for another name", { host: "term.example.com" }],
  ["for a name that only begins like this machine's", { host: "localhost.evil.example" }],
  ["for a name that only ends like it", { host: "evil-localhost" }],
  ["for an address that only looks like it", { host: "127.0.0.1.evil.example" }],
  ["for this machine's other address", { host: "192.0.2.7:4020" }],
  ["without a Host", { host: undefined }],
  ["with something else for a Host", { host: "localhost, localhost" }],
  ["with user information in the Host", { host: "localhost@evil.example" }],
  ["through a proxy", { isForwarded: true }],
  ["with a user of a proxy", { identity: { login: "ada", name: undefined, picture: undefined } }],
  ["with a picture of a proxy", { identity: { login: undefined, name: undefined, picture: "x" } }],
])("a request %s is not", async (_, more) => {
  expect(await bypass({ ...LOCAL, ...more })).toBeUndefined();
});

test("with a configured token only requests with that token are accepted", async () => {
  expect(await withToken({ ...LOCAL, localToken: "a local token" })).toEqual(me);
  for (const localToken of [undefined, "", "a local toke", "a local token ", "A local token"]) {
    expect(await withToken({ ...LOCAL, localToken })).toBeUndefined();
  }
  expect(await withToken({ ...LOCAL, localToken: "a local token", isForwarded: true })).toBeUndefined();
});
