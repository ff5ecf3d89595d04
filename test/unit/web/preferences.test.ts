import { expect, test } from "vitest";
import { BrowserStorage } from "../../../src/web/browser-storage.ts";
import { Preferences } from "../../../src/web/preferences.ts";
import { ClipboardRequests } from "../../../src/web/terminal/clipboard-requests.ts";
import { FakeStorage, FakeWindow } from "./fake-window.ts";

const KEY = "ttyhq.preferences";

function preferencesIn(storage: Storage): Preferences {
  return new Preferences(new BrowserStorage(() => storage));
}

function stored(choices: object): Preferences {
  const storage = new FakeStorage();
  storage.setItem(KEY, JSON.stringify(choices));
  return preferencesIn(storage);
}

test("choices are there after a reload", () => {
  const storage = new FakeStorage();
  const choices = {
    theme: "nord",
    font: "JetBrains Mono",
    fontSizePx: 18,
    bell: "sound",
    hasImages: true,
  } as const;
  preferencesIn(storage).change(choices);
  expect(preferencesIn(storage).current.value).toMatchObject(choices);
});

test("choices in one tab keep those that another tab has made since", () => {
  const storage = new FakeStorage();
  const [here, elsewhere] = [preferencesIn(storage), preferencesIn(storage)];
  elsewhere.change({ theme: "nord", clipboard: "deny" });
  here.change({ fontSizePx: 15 });
  const choices = { theme: "nord", clipboard: "deny", fontSizePx: 15 };
  expect(here.current.value).toMatchObject(choices);
  expect(preferencesIn(storage).current.value).toMatchObject(choices);
});

test("a tab applies the choices of another one at once", () => {
  const storage = new FakeStorage();
  const [here, elsewhere] = [preferencesIn(storage), preferencesIn(storage)];
  const window = new FakeWindow(storage);
  using _ = here.follow(window);
  elsewhere.change({ clipboard: "deny" });
  window.dispatchEvent(Object.assign(new Event("storage"), { key: KEY }));
  expect(here.mayWriteClipboard("one")).toBe(false);
});

test("a stored choice that is none any more costs that choice alone", () => {
  const { current } = stored({ theme: "vaporwave", bell: "sound", font: 'x"; color: red', fontSizePx: 900 });
  expect(current.value).toMatchObject({ theme: "system", bell: "sound", font: "", fontSizePx: 14 });
});

test("a font size is taken to the nearest that is allowed", () => {
  const preferences = stored({});
  preferences.change({ fontSizePx: 100 });
  expect(preferences.current.value.fontSizePx).toBe(28);
});

function requests(preferences: Preferences, sessionId = "one", isRefused = false) {
  const written: string[] = [];
  const clipboard = new ClipboardRequests({
    ...{ sessionId, preferences },
    write: async (text) => {
      if (isRefused) throw new Error("no click");
      written.push(text);
    },
  });
  return { clipboard, written };
}

test("a session is asked about once, and only that session", () => {
  const preferences = stored({});
  const { clipboard, written } = requests(preferences);
  clipboard.request("first");
  clipboard.request("second");
  expect([clipboard.waiting.value, written]).toEqual(["second", []]);
  clipboard.answer(true);
  clipboard.request("third");
  expect([clipboard.waiting.value, written]).toEqual([undefined, ["second", "third"]]);
  const other = requests(preferences, "two");
  other.clipboard.request("fourth");
  other.clipboard.answer(false);
  other.clipboard.request("fifth");
  expect([other.clipboard.waiting.value, other.written]).toEqual([undefined, []]);
});

test("with a general answer in the settings nobody is asked", () => {
  for (const [clipboard, texts] of [
    ["allow", ["text"]],
    ["deny", []],
  ] as const) {
    const { clipboard: asked, written } = requests(stored({ clipboard }));
    asked.request("text");
    expect([asked.waiting.value, written]).toEqual([undefined, texts]);
  }
});

test("a text that the browser does not write without a click waits for one", async () => {
  const { clipboard } = requests(stored({ clipboard: "allow" }), "one", true);
  clipboard.request("text");
  await expect.poll(() => clipboard.waiting.value).toBe("text");
});

test("of the answers for sessions the oldest go", () => {
  const preferences = stored({});
  for (let number = 0; number <= 100; number += 1) preferences.answerClipboard(`s${number}`, true);
  expect(preferences.mayWriteClipboard("s0")).toBeUndefined();
  expect(preferences.mayWriteClipboard("s1")).toBe(true);
});
