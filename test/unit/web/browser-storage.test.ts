import { describe, expect, test } from "vitest";
import { BrowserStorage } from "../../../src/web/browser-storage.ts";
import { KeyStore } from "../../../src/web/login/keys/key-store.ts";
import { TokenStore } from "../../../src/web/login/token-store.ts";
import { Preferences } from "../../../src/web/preferences.ts";
import { FakeStorage, FakeWindow } from "./fake-window.ts";

const LOGIN = { token: "t", user: "me", expiresAt: Date.now() + 60_000 };

describe.each([
  ["refuses", () => new FakeWindow(undefined)],
  ["has no room", () => new FakeWindow(new FakeStorage(0))],
])("in a browser whose storage %s", (_, makeWindow) => {
  test("a login lasts as long as the page, or until it is ended", () => {
    using store = new TokenStore(makeWindow(), () => undefined);
    expect(store.read()).toBeUndefined();
    store.write(LOGIN);
    expect(store.read()).toEqual(LOGIN);
    store.clear();
    expect(store.read()).toBeUndefined();
  });

  test("so does a guest's pass", () => {
    const window = makeWindow();
    const pass = new BrowserStorage(() => window.sessionStorage);
    pass.set("guest", "token");
    expect(pass.get("guest")).toBe("token");
  });

  test("so do preferences", () => {
    const window = makeWindow();
    const preferences = new Preferences(new BrowserStorage(() => window.localStorage));
    preferences.change({ fontSizePx: 20 });
    expect(preferences.current.value.fontSizePx).toBe(20);
  });

  test("there are no keys, and a new one is refused", () => {
    using store = new KeyStore(makeWindow());
    expect(store.keys.value).toEqual([]);
    const publicKey = Buffer.alloc(32).toString("base64");
    const key = { name: "k", publicKey, addedAt: 0, secret: { kind: "plain", pkcs8: "" } } as const;
    expect(() => store.add(key)).toThrow("this browser cannot store the key: its storage is full or blocked");
  });
});

test("a value stored before the storage was full does not reappear", () => {
  const storage = new FakeStorage(1);
  const kept = new BrowserStorage(() => storage);
  kept.set("a", "1");
  kept.set("b", "2");
  expect([kept.get("a"), kept.get("b")]).toEqual(["1", "2"]);
  kept.delete("a");
  kept.set("b", "3");
  expect([kept.get("a"), kept.get("b")]).toEqual([undefined, "3"]);
});
