import { expect, test } from "vitest";
import { ModifierKeys, type ModifierName } from "../../../../../src/web/terminal/emulator/modifier-keys.ts";

const bytes = (text: string): Uint8Array => new TextEncoder().encode(text);

function typed(text: string, ...modifiers: readonly ModifierName[]): string {
  const keys = new ModifierKeys();
  for (const name of modifiers) keys.tap(name);
  return new TextDecoder().decode(keys.meant(bytes(text)));
}

test("a tapped modifier holds for the next key and for no other", () => {
  const keys = new ModifierKeys();
  expect(keys.meant(bytes("c"))).toEqual(bytes("c"));
  keys.tap("ctrl");
  expect(keys.state("ctrl").value).toBe("once");
  expect(keys.meant(bytes("c"))).toEqual(Uint8Array.of(3));
  expect(keys.state("ctrl").value).toBe("off");
  expect(keys.meant(bytes("c"))).toEqual(bytes("c"));
});

test("tapped twice it holds until it is tapped again", () => {
  const keys = new ModifierKeys();
  keys.tap("alt");
  keys.tap("alt");
  for (const _ of [1, 2]) expect(keys.meant(bytes("b"))).toEqual(bytes("\x1bb"));
  keys.tap("alt");
  expect(keys.meant(bytes("b"))).toEqual(bytes("b"));
});

test("both modifiers together, and those of keys that are sequences, are sent as xterm sends them", () => {
  expect(typed("x", "ctrl", "alt")).toBe("\x1b\x18");
  expect(typed(" ", "ctrl")).toBe("\0");
  expect(typed("\x1b[A", "ctrl")).toBe("\x1b[1;5A");
  expect(typed("\x1bOH", "alt")).toBe("\x1b[1;3H");
  expect(typed("\x1b[6~", "ctrl", "alt")).toBe("\x1b[6;7~");
});

test("text that Control does not change stays unchanged", () => {
  for (const text of ["1", "é", "\t"]) expect(typed(text, "ctrl")).toBe(text);
});

test("a paste and an answer to the program neither change nor use up a modifier", () => {
  const keys = new ModifierKeys();
  keys.tap("ctrl");
  for (const text of ["\x1b[200~two\x1b[201~", "\x1b[24;80R", "ls"])
    expect(keys.meant(bytes(text))).toEqual(bytes(text));
  expect(keys.state("ctrl").value).toBe("once");
});
