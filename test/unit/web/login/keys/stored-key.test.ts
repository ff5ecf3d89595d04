import fc from "fast-check";
import { expect, test } from "vitest";
import { encodeBase64 } from "../../../../../src/web/login/keys/format/base64.ts";
import { publicLine } from "../../../../../src/web/login/keys/format/public-line.ts";
import { keyName, StoredKey } from "../../../../../src/web/login/keys/stored-key.ts";

const KEY = {
  name: "my laptop",
  publicKey: encodeBase64(new Uint8Array(32)),
  addedAt: 1,
  secret: { kind: "plain", pkcs8: "AAAA" },
};

test("a key with any name has a single line of authorized_keys", () => {
  fc.assert(
    fc.property(fc.string({ unit: "binary", maxLength: 100 }), (text) => {
      const name = keyName(text);
      if (name === undefined) return;
      expect(StoredKey.safeParse({ ...KEY, name }).success).toBe(true);
      expect(publicLine(new Uint8Array(32), name)).toMatch(/^ssh-ed25519 [A-Za-z0-9+/]+={0,2} \P{C}+$/u);
    }),
  );
  expect(keyName("evil\nssh-rsa AAAA")).toBe("evil ssh-rsa AAAA");
  expect([keyName(""), keyName(" \0\r\n ")]).toEqual([undefined, undefined]);
});

test("an entry that is not as it was written is no key", () => {
  expect(StoredKey.safeParse(KEY).success).toBe(true);
  const others = [
    { ...KEY, name: "" },
    { ...KEY, name: "two\nlines" },
    { ...KEY, publicKey: "AAAA" },
    { ...KEY, publicKey: 7 },
    { ...KEY, secret: { kind: "plain" } },
    { ...KEY, secret: { kind: "locked", data: "AAAA" } },
    { ...KEY, secret: { kind: "other", pkcs8: "AAAA" } },
    undefined,
    [],
  ];
  expect(others.filter((other) => StoredKey.safeParse(other).success)).toEqual([]);
});
