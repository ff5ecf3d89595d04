import { expect, test } from "vitest";
import { AlternateScreen, PLAIN_MODES } from "../../../../src/cli/terminal/terminal-modes.ts";
import { ScreenTerminal } from "../../../../src/sessions/screen/terminal/terminal.ts";

const latin1 = (text: string): Uint8Array => Uint8Array.from(text, (character) => character.charCodeAt(0));

test.each(["1049", "1047", "47"])("the switch %s is recognised however the output is split", (mode) => {
  const output = latin1(`text\x1b[?${mode}hmore`);
  for (let cut = 0; cut <= output.length; cut += 1) {
    const screen = new AlternateScreen();
    screen.shown(output.subarray(0, cut));
    screen.shown(output.subarray(cut));
    expect(screen.isActive).toBe(true);
    screen.shown(latin1(`\x1b[?${mode}l`));
    expect(screen.isActive).toBe(false);
  }
});

test("of several switches the last one counts", () => {
  const screen = new AlternateScreen();
  screen.shown(latin1("\x1b[?1049h\x1b[?25l\x1b[?1049l\x1b[?1049h\xff"));
  expect(screen.isActive).toBe(true);
});

test("a reset of the terminal leaves the alternate screen, however the output is split", () => {
  const output = latin1("\x1b[?1049htext\x1bc$ ");
  for (let cut = 0; cut <= output.length; cut += 1) {
    const screen = new AlternateScreen();
    screen.shown(output.subarray(0, cut));
    screen.shown(output.subarray(cut));
    expect(screen.isActive).toBe(false);
  }
});

test("other modes change nothing", () => {
  const screen = new AlternateScreen();
  screen.shown(latin1("\x1b[?2004h\x1b[?1000h[?1049h"));
  expect(screen.isActive).toBe(false);
});

test.each([
  ...["[4h", "[20h", "[?25l", "[?7l", "[?45h", "[?1h", "=", "[?6h", "[2;3r", "[?2004h", "[?1004h"],
  ...["[?9h", "[?1000h", "[?1002h", "[?1003h", "[?1006h", "[?1016h", "[4 q", "[=1u", "[>1u", "[>4;2m"],
])("leaving a session resets what drawing its screen sets: ESC %s", (sequence) => {
  const drawing = (text: string): string => {
    using terminal = new ScreenTerminal({ cols: 20, rows: 5 });
    terminal.write(latin1(`${text}${PLAIN_MODES}`));
    return new TextDecoder().decode(terminal.drawing());
  };
  expect(drawing(`\x1b${sequence}`)).toBe(drawing(""));
});
