import { generateKeyPairSync } from "node:crypto";
import * as fc from "fast-check";
import { expect, test } from "vitest";
import { certificates, privateKey } from "../../../../src/config/options/value.ts";
import { CertificateAuthority } from "../../certificate-authority.ts";

const authority = new CertificateAuthority("test");
const { cert, key } = authority.issue(["localhost"]);
const bytes = (text: string) => new TextEncoder().encode(text);
const text = (pem: Uint8Array) => new TextDecoder().decode(pem);

test("a certificate and a chain are accepted unchanged, with text between", () => {
  expect(certificates(cert)).toBe(cert);
  const chain = bytes(`subject=localhost\n${text(cert)}\nissuer\r\n${text(authority.cert)}`);
  expect(certificates(chain)).toBe(chain);
});

test.each([
  ["nothing", ""],
  ["something else", "hello"],
  ["a key", text(key.bytes())],
  ["what is cut off", text(cert).slice(0, -30)],
  ["what is damaged", "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"],
  ["a damaged one after a good one", `${text(cert)}${text(cert).replace(/MII[^-]{40}/, "MIIA")}`],
])("%s is not a certificate", (_, pem) => {
  expect(() => certificates(bytes(pem))).toThrow("must hold certificates in PEM form");
});

test("a key of any kind is accepted", () => {
  const pair = generateKeyPairSync("ec", { namedCurve: "P-256" }).privateKey;
  const pems = [
    text(key.bytes()),
    `-----BEGIN EC PARAMETERS-----\nBggqhkjOPQMBBw==\n-----END EC PARAMETERS-----\n${pair.export({ type: "sec1", format: "pem" })}`,
  ];
  for (const pem of pems) expect(privateKey(bytes(pem)).bytes().length).toBe(pem.length);
});

test("a key with a passphrase and a file without a key have their own messages", () => {
  const locked = generateKeyPairSync("ed25519").privateKey.export({
    ...{ type: "pkcs8", format: "pem", cipher: "aes-256-cbc", passphrase: "x" },
  });
  expect(() => privateKey(bytes(locked.toString()))).toThrow("must hold a private key without a passphrase");
  const old =
    "-----BEGIN RSA PRIVATE KEY-----\nProc-Type: 4,ENCRYPTED\n\nAAAA\n-----END RSA PRIVATE KEY-----\n";
  expect(() => privateKey(bytes(old))).toThrow("without a passphrase");
  expect(() => privateKey(cert)).toThrow("must hold a private key in PEM form");
});

test("every file is accepted or refused with the requirement", () =>
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 500 }), (content) => {
      const pem = new Uint8Array(Buffer.concat([bytes("-----BEGIN CERTIFICATE-----\n"), content, cert]));
      for (const parse of [certificates, privateKey]) {
        try {
          parse(pem);
        } catch (error) {
          expect(error).toBeInstanceOf(RangeError);
        }
      }
    }),
  ));
