import { expect, test } from "vitest";
import { decodeBase64, encodeBase64 } from "../../../../../src/web/login/keys/format/base64.ts";
import { Locked, lock, unlock } from "../../../../../src/web/login/keys/key-lock.ts";

const SECRET = Uint8Array.from({ length: 48 }, (_, index) => index);
const OWNER = new Uint8Array(32).fill(7);
const OPTIONS = { password: "correct horse", owner: OWNER };

test("a locked key opens with its password, and each locking gives another ciphertext", async () => {
  const [one, other] = [await lock(crypto, SECRET, OPTIONS), await lock(crypto, SECRET, OPTIONS)];
  expect(Locked.parse(JSON.parse(JSON.stringify(one)))).toEqual(one);
  expect(await unlock(crypto.subtle, one, OPTIONS)).toEqual(SECRET);
  expect([one.data, one.kdf.salt, one.cipher.iv]).not.toContain(other.data);
  expect(one.kdf.salt).not.toBe(other.kdf.salt);
  expect(one.cipher.iv).not.toBe(other.cipher.iv);
});

test("another password, another owner and every change of what is kept are refused in the same way", async () => {
  const locked = await lock(crypto, SECRET, OPTIONS);
  const flipped = (base64: string): string => {
    const bytes = decodeBase64(base64) ?? new Uint8Array();
    bytes[3] = (bytes[3] ?? 0) ^ 1;
    return encodeBase64(bytes);
  };
  const attempts = [
    [locked, { ...OPTIONS, password: "correct horses" }],
    [locked, { ...OPTIONS, password: "" }],
    [locked, { ...OPTIONS, owner: new Uint8Array(32) }],
    [{ ...locked, data: flipped(locked.data) }, OPTIONS],
    [{ ...locked, data: "" }, OPTIONS],
    [{ ...locked, kdf: { ...locked.kdf, salt: flipped(locked.kdf.salt) } }, OPTIONS],
    [{ ...locked, kdf: { ...locked.kdf, iterations: 599_999 } }, OPTIONS],
    [{ ...locked, cipher: { ...locked.cipher, iv: flipped(locked.cipher.iv) } }, OPTIONS],
    [{ ...locked, cipher: { ...locked.cipher, iv: "" } }, OPTIONS],
  ] as const;
  for (const [changed, options] of attempts) {
    await expect(unlock(crypto.subtle, changed, options)).rejects.toMatchObject({
      name: "ServiceError",
      code: "invalid_credentials",
    });
  }
});

test("numbers that would keep the browser busy for minutes are not taken from what is kept", async () => {
  const locked = await lock(crypto, SECRET, OPTIONS);
  for (const iterations of [0, 1.5, 1e9]) {
    expect(Locked.safeParse({ ...locked, kdf: { ...locked.kdf, iterations } }).success).toBe(false);
  }
});
