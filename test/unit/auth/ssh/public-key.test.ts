import fc from "fast-check";
import { expect, test } from "vitest";
import { isSameKey, keyOfLine, readPublicKey } from "../../../../src/auth/ssh/public-key.ts";
import { base64, mutations, newKey, wire } from "./key-pair.ts";

const { blob, letters, line } = newKey();
const bytes = blob.slice(-32);

test.each([
  ["a line of OpenSSH", line],
  ["a line without a comment", `ssh-ed25519 ${letters}`],
  ["a line with white space around it", `  ssh-ed25519 \t ${letters}  \r\n`],
  ["the wire form alone", letters],
  ["the wire form over several lines", letters.replace(/.{20}/g, "$&\n")],
])("%s is a key", (_, text) => {
  expect(readPublicKey(text)).toEqual({ bytes });
});

test.each([
  ["nothing", ""],
  ["a type without a key", "ssh-ed25519"],
  ["another type in words", `ssh-rsa ${letters}`],
  ["a type in capitals", `SSH-ED25519 ${letters}`],
  ["another type in the wire form", base64(wire("ssh-ed448", bytes))],
  ["the type of a key that signs certificates", base64(wire("ssh-ed25519-cert-v01@openssh.com", bytes))],
  ["a key of 31 bytes", base64(wire("ssh-ed25519", bytes.slice(1)))],
  ["a key of 33 bytes", base64(wire("ssh-ed25519", Buffer.concat([bytes, bytes.slice(0, 1)])))],
  ["something after the key", base64(wire("ssh-ed25519", bytes, ""))],
  ["the type alone", base64(wire("ssh-ed25519"))],
  ["options before the key", `no-user-rc ${line}`],
  ["two keys", `${line}\n${line}`.replaceAll(" me@here", "")],
  ["a key with an equals sign more", `ssh-ed25519 ${letters}=`],
  ["a key cut short", `ssh-ed25519 ${letters.slice(0, -1)}`],
  ["a private key", "-----BEGIN OPENSSH PRIVATE KEY-----"],
])("%s is none", (_, text) => {
  expect(readPublicKey(text)).toBeUndefined();
});

test("a key with one bit changed is another key or invalid", () => {
  for (const changed of mutations(blob)) {
    const key = readPublicKey(base64(changed));
    if (key !== undefined) expect(isSameKey(key, { bytes })).toBe(false);
  }
});

test("a line with one character changed is another key, invalid, or has another comment", () => {
  for (let at = 0; at < line.length; at++) {
    const key = readPublicKey(`${line.slice(0, at)}*${line.slice(at + 1)}`);
    if (at < line.lastIndexOf(" ")) expect(key).toBeUndefined();
    else if (at > line.lastIndexOf(" ")) expect(key).toEqual({ bytes });
  }
});

test("no text makes reading a key throw", () => {
  const text = fc.oneof(
    fc.string({ unit: "binary" }),
    fc.string().map((rest) => `ssh-ed25519 ${rest}`),
    fc.uint8Array({ maxLength: 80 }).map((each) => `ssh-ed25519 ${base64(each)}`),
    fc.uint8Array({ maxLength: 40 }).map((each) => base64(wire("ssh-ed25519", each))),
  );
  fc.assert(
    fc.property(text, (each) => {
      const key = readPublicKey(each);
      if (key !== undefined) expect(key.bytes).toHaveLength(32);
      keyOfLine(each);
    }),
  );
});
