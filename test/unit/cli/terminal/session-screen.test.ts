import { PassThrough } from "node:stream";
import { expect, test } from "vitest";
import { SessionScreen } from "../../../../src/cli/terminal/session-screen.ts";
import { Terminal } from "../../../../src/cli/terminal/terminal.ts";
import { ScreenTerminal } from "../../../../src/sessions/screen/terminal/terminal.ts";
import { screenText } from "../../../../src/sessions/screen/terminal/text.ts";

test("a status that is longer than a row scrolls nothing, and leaves nothing behind", () => {
  const stdout = Object.assign(new PassThrough(), { isTTY: true, columns: 20, rows: 4 });
  using emulator = new ScreenTerminal({ cols: 20, rows: 4 });
  emulator.write(Buffer.from("one\r\ntwo\r\nthree\r\n"));
  const text = (): string => screenText(emulator, { scrollback: false, styles: false });
  const unused = (): never => {
    throw new Error("only the status is shown");
  };
  const screen = new SessionScreen({
    ...{ socket: { attach: unused }, client: { resync: unused }, exited: unused, refused: unused },
    ...{ terminal: new Terminal({ stdin: new PassThrough(), stdout }), sessionId: "a" },
  });
  screen.showStatus(" a session with a long name keeps running ");
  emulator.write(stdout.read());
  expect(text()).toBe("one\ntwo\nthree\n a session with a l…");
  screen[Symbol.dispose]();
  emulator.write(stdout.read());
  expect(text()).toBe("one\ntwo\nthree");
});
