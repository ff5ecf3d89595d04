import { expect, test } from "vitest";
import { screenCore } from "../../../../../src/sessions/screen/terminal/core.ts";

test("a version of xterm.js without expected members is refused, and the error names them", () => {
  expect(() => screenCore({})).toThrow(/^xterm.js has changed: .*expected object/);
  const other = { _core: { _inputHandler: { parse: () => undefined } } };
  expect(() => screenCore(other)).toThrow("no function\n  → at _inputHandler.registerCsiHandler");
});
