import fc from "fast-check";
import { expect, test } from "vitest";
import type { RequestClaims } from "../../../src/auth/chain.ts";
import { byProxyIdentity } from "../../../src/auth/chain.ts";
import { Secret } from "../../../src/lib/secret.ts";
import { BARE } from "./request-claims.ts";

const PROOF = "the proof of this start";
const byOwn = byProxyIdentity("own-proxy", Secret.fromText(PROOF));
const byOther = byProxyIdentity("local-proxy", Secret.fromText(PROOF));

function requestOf(login: string | undefined, more: Partial<RequestClaims> = {}): RequestClaims {
  return { ...BARE, peer: "127.0.0.1", identity: { login, name: "Ada", picture: undefined }, ...more };
}

const ada = { user: "ada@example.com", method: "proxy", groups: [], profile: { name: "Ada" } };

test("a proxy on this machine names the user; our own proxy adds a proof", async () => {
  expect(await byOther(requestOf("ada@example.com"))).toEqual(ada);
  expect(await byOwn(requestOf("ada@example.com", { identityProof: PROOF }))).toEqual(ada);
  for (const identityProof of [undefined, "", "guess", PROOF.slice(1), `${PROOF} `]) {
    expect(await byOwn(requestOf("ada@example.com", { identityProof }))).toBeUndefined();
  }
});

test("groups count only from our own proxy, since another one may pass on a client's header", async () => {
  const identity = { login: "ada", name: undefined, picture: undefined, groups: "ops,the%20staff%2C" };
  const request = requestOf("ada", { identity, identityProof: PROOF });
  expect((await byOwn(request))?.groups).toEqual(["ops", "the staff,"]);
  expect((await byOther(request))?.groups).toEqual([]);
});

test.each([
  undefined,
  "192.0.2.1",
  "10.0.0.1",
  "::ffff:10.0.0.1",
  "128.0.0.1",
  "fe80::1",
  "0.0.0.0",
  "127.0.0.1.evil",
])(
  "from %s it says nothing, whatever proof comes with it and whatever address it is counted under",
  async (peer) => {
    for (const address of [peer, "127.0.0.1"]) {
      const request = requestOf("ada", { peer, address, identityProof: PROOF });
      expect([await byOwn(request), await byOther(request)]).toEqual([undefined, undefined]);
    }
  },
);

test.each(["127.0.0.1", "127.9.9.9", "::1", "::ffff:127.0.0.1"])("%s is this machine", async (peer) => {
  expect(await byOther(requestOf("ada", { peer }))).toMatchObject({ user: "ada" });
});

test.each([undefined, "", " ", "a b", "ada, root", "a\u0000", "a\u200b", "a\n", "a".repeat(257)])(
  "%j is not a valid login",
  async (login) => {
    expect(await byOther(requestOf(login))).toBeUndefined();
  },
);

test("no header makes it throw, and every accepted name is valid", async () => {
  await fc.assert(
    fc.asyncProperty(fc.string(), async (login) => {
      const proof = await byOther(requestOf(login));
      if (proof !== undefined) expect(proof.user).toMatch(/^[^\s\p{C}]{1,256}$/u);
    }),
  );
});
