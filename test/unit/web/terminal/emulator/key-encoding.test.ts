import { describe, expect, test } from "vitest";
import {
  encodeKey,
  type KeyModes,
  type KeyPress,
} from "../../../../../src/web/terminal/emulator/key-encoding.ts";

/** `pressed`: modifiers and a key, such as "ctrl+shift+Enter". */
function press(pressed: string, more: Partial<KeyPress> = {}): KeyPress {
  const [key = "", ...held] = pressed.split("+").reverse();
  return {
    key,
    code: /^[a-z]$/i.test(key) ? `Key${key.toUpperCase()}` : key,
    shiftKey: held.includes("shift"),
    altKey: held.includes("alt"),
    ctrlKey: held.includes("ctrl"),
    metaKey: held.includes("meta"),
    ...{ isComposing: false, keyCode: 0 },
    getModifierState: (name) => held.includes(name),
    ...more,
  };
}

const PLAIN: KeyModes = { isDisambiguating: false, otherKeys: 0, reportsFocus: false };
const KITTY: KeyModes = { ...PLAIN, isDisambiguating: true };

describe("Shift+Enter", () => {
  test.each([
    ["is Enter for a shell", PLAIN, undefined],
    ["is kitty's sequence for a program that asked for it", KITTY, "\x1b[13;2u"],
    ["is xterm's sequence for a program that asked for that", { ...PLAIN, otherKeys: 2 }, "\x1b[27;2;13~"],
    [
      "is kitty's sequence for a coding agent, which asks for the focus",
      { ...PLAIN, reportsFocus: true },
      "\x1b[13;2u",
    ],
  ])("%s", (_, modes, sequence) => {
    expect(encodeKey(press("shift+Enter"), modes)).toBe(sequence);
    expect(encodeKey(press("Enter"), modes)).toBeUndefined();
  });
});

test.each([
  ["Escape", "\x1b[27u"],
  ["ctrl+Enter", "\x1b[13;5u"],
  ["alt+Enter", "\x1b[13;3u"],
  ["shift+Tab", "\x1b[9;2u"],
  ["ctrl+Backspace", "\x1b[127;5u"],
  ["ctrl+c", "\x1b[99;5u"],
  ["ctrl+i", "\x1b[105;5u"],
  ["alt+X", "\x1b[120;3u"],
  ["alt+shift+X", "\x1b[120;4u"],
  ["ctrl+alt+ä", "\x1b[228;7u"],
  ["ctrl+ ", "\x1b[32;5u"],
])("kitty's protocol sends %s as a sequence of its own", (pressed, sequence) => {
  expect(encodeKey(press(pressed), KITTY)).toBe(sequence);
});

test.each(
  [
    ["a", "A", "shift+A", "Enter", "Tab", "Backspace"],
    ["ArrowUp", "ctrl+ArrowUp", "F5", "shift+Delete", "Shift"],
    ["ctrl+shift+V", "ctrl+shift+C", "meta+c", "ctrl+-", "ctrl+0", "AltGraph+ctrl+alt+@"],
  ].flat(),
)("kitty's protocol leaves %s as it is", (pressed) => {
  expect(encodeKey(press(pressed), KITTY)).toBeUndefined();
});

test("a key that does not write Latin letters is named by its place, a digit by its number", () => {
  expect(encodeKey(press("ctrl+с", { code: "KeyC" }), KITTY)).toBe("\x1b[99;5u");
  expect(encodeKey(press("alt+shift+!", { code: "Digit1" }), KITTY)).toBe("\x1b[49;4u");
});

test.each([
  ["while it lasts", { isComposing: true }],
  ["right after it, as in Safari", { keyCode: 229 }],
])("the key that ends a composition %s is left alone", (_, composition) => {
  expect(encodeKey(press("shift+Enter", composition), KITTY)).toBeUndefined();
  expect(encodeKey(press("Escape", composition), KITTY)).toBeUndefined();
});
