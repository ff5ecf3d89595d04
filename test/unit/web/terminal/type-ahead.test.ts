import { expect, test, vi } from "vitest";
import { TypeAhead } from "../../../../src/web/terminal/type-ahead.ts";

const bytes = (text: string): Uint8Array => new TextEncoder().encode(text);

test("input while a session opens is handed over once, in order", () => {
  using ahead = new TypeAhead(() => {});
  for (const key of ["l", "s", "\r"]) expect(ahead.keep(bytes(key))).toBe(true);
  expect(ahead.end()).toEqual([bytes("l"), bytes("s"), bytes("\r")]);
  expect(ahead.end()).toEqual([]);
  expect(ahead.keep(bytes("x"))).toBe(false);
});

test("input is dropped, with one message, if the session does not open in time", async () => {
  const onLate = vi.fn();
  using ahead = new TypeAhead(onLate, 1);
  ahead.keep(bytes("a"));
  ahead.keep(bytes("b"));
  await vi.waitFor(() => expect(onLate).toHaveBeenCalledOnce());
  expect(ahead.end()).toEqual([]);
  expect(ahead.keep(bytes("c"))).toBe(false);
});

test("input over the limit is refused whole, and so is later input", () => {
  using ahead = new TypeAhead(() => {});
  ahead.keep(bytes("rm "));
  expect(ahead.keep(new Uint8Array(4_096))).toBe(false);
  expect(ahead.keep(bytes("x"))).toBe(false);
  expect(ahead.end()).toEqual([]);
});
