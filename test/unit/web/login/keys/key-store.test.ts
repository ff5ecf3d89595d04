import { expect, test } from "vitest";
import { KeyStore } from "../../../../../src/web/login/keys/key-store.ts";
import { FakeStorage, FakeWindow } from "../../fake-window.ts";

const KEY = {
  name: "mine",
  publicKey: Buffer.alloc(32).toString("base64"),
  addedAt: 1,
  secret: { kind: "plain", pkcs8: "AAAA" },
} as const;

test("a storage that is full refuses another key, but not the use of one", () => {
  const storage = new FakeStorage();
  using keys = new KeyStore(new FakeWindow(storage));
  keys.add(KEY);
  storage.setItem = () => {
    throw new DOMException("The quota has been exceeded.", "QuotaExceededError");
  };
  keys.usedBy(KEY.publicKey, "ada");
  expect(keys.keys.value).toEqual([KEY]);
  const other = { ...KEY, publicKey: Buffer.alloc(32, 1).toString("base64") };
  expect(() => keys.add(other)).toThrow("its storage is full or blocked");
});
