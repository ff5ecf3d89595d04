import { expect, test } from "vitest";
import { ScreenCore } from "../../../../../src/sessions/screen/terminal/core.ts";

test("another version of xterm.js that lacks something is refused, and what it lacks is named", () => {
  expect(() => new ScreenCore({})).toThrow("xterm.js has changed: no _core (object)");
  expect(() => new ScreenCore({ _core: { _inputHandler: { parse: () => undefined } } })).toThrow(
    "xterm.js has changed: no _core._inputHandler.registerCsiHandler (function)",
  );
});
