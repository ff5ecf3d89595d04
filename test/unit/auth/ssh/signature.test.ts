import fc from "fast-check";
import { expect, test } from "vitest";
import { isSignedBy, readPublicKey, readSignature } from "../../../../src/auth/ssh/public-key.ts";
import { base64, mutations, newKey, wire } from "./key-pair.ts";

const key = newKey();
const publicKey = readPublicKey(key.line) ?? { bytes: new Uint8Array() };
const message = new Uint8Array(32).fill(7);
const signature = new Uint8Array(key.sign(message));
const blob = wire("ssh-ed25519", signature);
const hex = (text: string): Uint8Array => new Uint8Array(Buffer.from(text, "hex"));

test("the signatures of RFC 8032 are valid for their messages only", () => {
  const vectors = [
    [
      "d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a",
      "",
      "e5564300c360ac729086e2cc806e828a84877f1eb8e5d974d873e065224901555fb8821590a33bacc61e39701cf9b46bd25bf5f0595bbe24655141438e7a100b",
    ],
    [
      "3d4017c3e843895a92b70aa74d1b7ebc9c982ccf2ec4968cc0cd55f12af4660c",
      "72",
      "92a009a9f0d4cab8720e820b5f642540a2b27b5416503f8fb3762223ebdb69da085ac1e43e15996e458f3613d0f11d8c387b2eaeb4302aeeb00d291612bb0c00",
    ],
    [
      "fc51cd8e6218a1a38da47ed00230f0580816ed13ba3303ac5deb911548908025",
      "af82",
      "6291d657deec24024827e69c3abe01a30ce548a284743a445e3680d7db5ac3ac18ff9b538d16f290ae67f760984dc6594a7c15e9716ed28dc027beceea1ec40a",
    ],
  ] as const;
  for (const [bytes, text, proof] of vectors) {
    expect(isSignedBy({ bytes: hex(bytes) }, hex(text), hex(proof))).toBe(true);
    expect(isSignedBy({ bytes: hex(bytes) }, hex(`${text}00`), hex(proof))).toBe(false);
  }
});

test("a signature is read from base64 of its 64 bytes and of an SSH signature", () => {
  expect(readSignature(base64(signature))).toEqual(signature);
  expect(readSignature(base64(blob))).toEqual(signature);
  expect(readSignature(`${base64(blob).replace(/.{76}/g, "$&\n")}\n`)).toEqual(signature);
  expect(isSignedBy(publicKey, message, signature)).toBe(true);
});

test.each([
  ["nothing", ""],
  ["63 bytes", base64(signature.slice(1))],
  ["65 bytes", base64(new Uint8Array(65))],
  ["hexadecimal digits", Buffer.from(signature).toString("hex")],
  ["an SSH signature of another type", base64(wire("rsa-sha2-512", signature))],
  ["an SSH signature of 63 bytes", base64(wire("ssh-ed25519", signature.slice(1)))],
  ["an SSH signature with something after it", base64(wire("ssh-ed25519", signature, ""))],
  ["an SSH signature cut short", base64(blob.slice(0, -1))],
])("%s is no signature", (_, text) => {
  expect(readSignature(text)).toBeUndefined();
});

test("a signature with one bit changed is invalid, raw or in the SSH form", () => {
  for (const changed of [...mutations(signature), ...mutations(blob)]) {
    const read = readSignature(base64(changed));
    if (read !== undefined) expect(isSignedBy(publicKey, message, read)).toBe(false);
  }
});

test("a signature is invalid for a message or a key with one bit changed", () => {
  for (const changed of mutations(message)) expect(isSignedBy(publicKey, changed, signature)).toBe(false);
  for (const bytes of mutations(publicKey.bytes)) {
    expect(isSignedBy({ bytes }, message, signature)).toBe(false);
  }
});

test("no key and no signature makes the check throw", () => {
  const exactly = (length: number) => fc.uint8Array({ minLength: length, maxLength: length });
  const key32 = fc.oneof(
    exactly(32),
    fc.constantFrom(0, 1, 255).map((byte) => new Uint8Array(32).fill(byte)),
  );
  fc.assert(
    fc.property(key32, exactly(64), (bytes, proof) => {
      expect(isSignedBy({ bytes }, message, proof)).toBe(false);
    }),
  );
  fc.assert(fc.property(fc.string({ unit: "binary" }), (text) => void readSignature(text)));
});
