import { expect, test } from "vitest";
import { screenCore } from "../../../../../src/sessions/screen/terminal/core.ts";

test("a version of xterm.js that lacks something is refused, with the names of the missing members", () => {
  expect(() => screenCore({})).toThrow(/^xterm.js has changed: .*expected object/);
  const other = { _core: { _inputHandler: { parse: () => undefined } } };
  expect(() => screenCore(other)).toThrow("no function\n  → at _inputHandler.registerCsiHandler");
});
