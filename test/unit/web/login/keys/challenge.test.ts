import { verify } from "node:crypto";
import { expect, test } from "vitest";
import { answerChallenge } from "../../../../../src/web/login/keys/challenge.ts";
import { makeSeed, publicKeyOf, sign } from "../../../../../src/web/login/keys/ed25519.ts";
import { encodeBase64 } from "../../../../../src/web/login/keys/format/base64.ts";
import { publicLine } from "../../../../../src/web/login/keys/format/public-line.ts";

const { subtle } = crypto;

async function newKey() {
  const seed = await makeSeed(subtle);
  const publicKey = await publicKeyOf(subtle, seed);
  const key = {
    publicLine: publicLine(publicKey, "x"),
    sign: (message: Uint8Array<ArrayBuffer>) => sign(subtle, seed, message),
  };
  return { publicKey, key };
}

test("the answer is a signature of the challenge that others can check", async () => {
  const { publicKey, key } = await newKey();
  const challenge = crypto.getRandomValues(new Uint8Array(32));
  const answer = await answerChallenge(key, encodeBase64(challenge));
  const x = Buffer.from(publicKey).toString("base64url");
  const publicKeyObject = { key: { kty: "OKP", crv: "Ed25519", x }, format: "jwk" } as const;
  const signature = Buffer.from(answer.signature, "base64");
  expect([signature.length, verify(null, challenge, publicKeyObject, signature)]).toEqual([64, true]);
  expect(answer.publicKey).toBe(key.publicLine);
});

test("nothing but 32 bytes is signed, whatever a server asks for", async () => {
  const { key } = await newKey();
  for (const challenge of [
    "",
    "AAAA",
    encodeBase64(new Uint8Array(31)),
    encodeBase64(new Uint8Array(33)),
    "!".repeat(44),
  ]) {
    await expect(answerChallenge(key, challenge)).rejects.toMatchObject({ code: "host_unreachable" });
  }
});
