import { expect, test } from "vitest";
import { ControlKey } from "../../../../../src/web/terminal/emulator/control-key.ts";

const bytes = (text: string): Uint8Array => new TextEncoder().encode(text);

test("a pressed Control key makes a control character of the next letter and of no other", () => {
  const key = new ControlKey();
  expect(key.meant(bytes("c"))).toEqual(bytes("c"));
  key.toggle();
  expect(key.isPressed.value).toBe(true);
  expect(key.meant(bytes("c"))).toEqual(Uint8Array.of(3));
  expect(key.isPressed.value).toBe(false);
  expect(key.meant(bytes("c"))).toEqual(bytes("c"));
});

test("what no Control key changes stays as it is", () => {
  const key = new ControlKey();
  for (const text of ["1", "é", "\x1b[A"]) {
    key.toggle();
    expect(key.meant(bytes(text))).toEqual(bytes(text));
  }
});
