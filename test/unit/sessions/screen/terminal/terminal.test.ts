import fc from "fast-check";
import { expect, test } from "vitest";
import { concatBytes } from "../../../../../src/lib/data/collect.ts";
import type { TerminalSize } from "../../../../../src/protocol/schemas/session.ts";
import { ScreenTerminal } from "../../../../../src/sessions/screen/terminal/terminal.ts";
import { screenText } from "../../../../../src/sessions/screen/terminal/text.ts";
import { isReproducible, stateOf } from "../../terminal-state.ts";
import { output, size } from "../../terminal-stream.ts";

const SIZE: TerminalSize = { cols: 20, rows: 5 };

function terminal(bytes: Uint8Array | string, cells = SIZE): ScreenTerminal {
  const made = new ScreenTerminal(cells);
  made.write(encode(bytes));
  return made;
}

function encode(bytes: Uint8Array | string): Uint8Array {
  return typeof bytes === "string" ? new TextEncoder().encode(bytes) : bytes;
}

/** Of a terminal that gets the drawing of one with `first`, and then `rest`. */
function stateAfterDrawing(drawn: ScreenTerminal, rest: Uint8Array): object {
  using drawing = terminal(concatBytes([drawn.drawing(), rest]), drawn.size);
  return stateOf(drawing);
}

/** In pieces that end anywhere: in a sequence, in a character. */
function writeInPieces(to: ScreenTerminal, bytes: Uint8Array, cuts: readonly number[]): void {
  const ends = cuts.map((cut) => Math.floor(cut * bytes.length)).sort((a, b) => a - b);
  let start = 0;
  for (const end of [...ends, bytes.length]) {
    to.write(bytes.subarray(start, end));
    start = end;
  }
}

const cuts = fc.array(fc.double({ min: 0, max: 1, noNaN: true }), { maxLength: 4 });

test("a terminal that was drawn at any point continues like the original", () => {
  fc.assert(
    fc.property(size, output, output, cuts, (cells, first, rest, where) => {
      using whole = new ScreenTerminal(cells);
      writeInPieces(whole, first, where);
      fc.pre(isReproducible(whole));
      expect(stateAfterDrawing(whole, new Uint8Array(0))).toEqual(stateOf(whole));
      using drawn = terminal(whole.drawing(), cells);
      for (const each of [whole, drawn]) writeInPieces(each, rest, where);
      expect(stateOf(drawn)).toEqual(stateOf(whole));
    }),
    { numRuns: 300 },
  );
}, 60_000);

test("the same after the terminal was resized", () => {
  fc.assert(
    fc.property(size, output, size, output, output, (cells, first, others, second, rest) => {
      using whole = terminal(first, cells);
      whole.resize(others);
      whole.write(second);
      fc.pre(isReproducible(whole));
      const after = stateAfterDrawing(whole, rest);
      whole.write(rest);
      expect(after).toEqual(stateOf(whole));
    }),
    { numRuns: 200 },
  );
}, 60_000);

const SAMPLE =
  "\x1b]0;title\x07\x1b[?2004h\x1b[1;32muser\x1b[0m$ \x1b[?1049h\x1b[2J\x1b[3;4r\x1b[4:3;58:2::1:2:3m漢’👩‍👩‍👧\x1b[m" +
  "\x1bP$qm\x1b\\\x1b[5;20Hx\u009b2Ae\u0301\x1b(0lqk\x0e\x1b7\x1b[?1006;1002h\x1b[38:5:99mend";

test("output may be cut at any byte", () => {
  const bytes = encode(SAMPLE);
  using whole = terminal(bytes);
  for (let cut = 0; cut <= bytes.length; cut++) {
    using first = terminal(bytes.subarray(0, cut));
    expect(stateAfterDrawing(first, bytes.subarray(cut)), `cut at ${cut}`).toEqual(stateOf(whole));
  }
});

test.each([
  ["text that wraps", "0123456789".repeat(5)],
  ["a wide character that wraps", `${"x".repeat(19)}漢字`],
  ["a cursor about to wrap", "x".repeat(20)],
  ["a cursor about to wrap behind an erased line", `${"x".repeat(20)}\x1b[2K`],
  ["a line that wraps from an erased cell", `${"x".repeat(25)}\x1b[A\x1b[20G\x1b[K`],
  ["an erased part with a background", "\x1b[44m\x1b[2J\x1b[3;3Htext\x1b[5X"],
  ["spaces and cells never printed", "a \x1b[10Cb   "],
  ["scrollback", "line\r\n".repeat(30)],
  ["the alternate screen with the normal one behind it", "shell$ vim\r\n\x1b[?1049hfile\x1b[31m"],
  ["both cursors that were saved", "ab\x1b7\x1b[?47h\x1b[3;3H\x1b[31m\x1b7\x1b[?47l\x1b[4;4H"],
  ["a cursor saved in a line that scrolled away", `\x1b[1mx\x1b7${"\r\n".repeat(9)}`],
  ["a scroll region with origin mode", "\x1b[2;4r\x1b[?6h\x1b[2;5H"],
  ["tab stops", "\x1b[3g\x1b[5G\x1bH\x1b[12G\x1bH\r\t"],
  ["insert mode behind a character", "abc\r\x1b[4hx"],
  ["no wrapping", "\x1b[?7labc"],
  ["cursor and keypad keys", "\x1b[?1h\x1b="],
  ["bracketed paste and focus events", "\x1b[?2004h\x1b[?1004h"],
  ["mouse reports and their encoding", "\x1b[?1003h\x1b[?1006h"],
  ["mouse reports in pixels", "\x1b[?1000h\x1b[?1016h"],
  ["a hidden cursor", "\x1b[?25l"],
  ["a blinking bar for a cursor", "\x1b[5 q"],
  ["newline mode", "\x1b[20h"],
  ["line drawing shifted to", "\x1b)0\x0elqk"],
  ["line drawing saved with the cursor", "\x1b(0\x1b7\x1b(B\x1b8"],
  ["every attribute", "\x1b[1;2;3;4;5;7;8;9;53mx"],
  ["underlines", "\x1b[4:3;58:5:9mcurly\x1b[4:2;58:2::1:2:3mdouble\x1b[21;59mtwo"],
  ["colours of every kind", "\x1b[31;102ma\x1b[38;5;200;48;5;17mb\x1b[38;2;1;2;3;48;2;4;5;6mc"],
  ["protected cells", '\x1b[1"qkeep\x1b[0"qlose\x1b[?2K'],
  [
    "a link",
    "\x1b]8;id=1;https://a.example/?x;y\x1b\\link\x1b]8;;\x1b\\ \x1b]8;;https://b.example\x1b\\open",
  ],
  ["a character that more may join", "e"],
  ["half a wide character overwritten", "\x1b[7m漢\x1b[2Dx"],
  ["half a wide character at the edge", `\x1b[7m${"x".repeat(19)}漢\x1b[2;1H\x1b[2K`],
])("a drawing has %s", (_, bytes) => {
  using drawn = terminal(bytes);
  // Marks join, characters wrap, lines scroll, the cursor is restored.
  const rest = encode("\u0301y\u0301\r\nz\x1b8*\x1b[3b\x1b[?1049l\x1b8+\r\n\n\n\n\n\n");
  expect(stateAfterDrawing(drawn, new Uint8Array(0))).toEqual(stateOf(drawn));
  const after = stateAfterDrawing(drawn, rest);
  drawn.write(rest);
  expect(after).toEqual(stateOf(drawn));
});

test("a drawing leaves synchronized output off", () => {
  using drawn = terminal("\x1b[?2026habc");
  expect(new TextDecoder().decode(drawn.drawing())).not.toContain("2026");
});

test("marks without end begin new cells, which bounds a cell and what repeating it costs", () => {
  using drawn = terminal(`a${"\u0301".repeat(1_000)}\x1b[99999b`, { cols: 80, rows: 24 });
  const { lines } = drawn.core.buffers.active;
  const texts = Array.from({ length: lines.length }, (_, row) => lines.get(row)?.getString(0) ?? "");
  expect(Math.max(...texts.map((text) => text.length))).toBe(33);
  expect(stateAfterDrawing(drawn, new Uint8Array(0))).toEqual(stateOf(drawn));
  const after = stateAfterDrawing(drawn, encode("\u0301"));
  drawn.write(encode("\u0301"));
  expect(after).toEqual(stateOf(drawn));
});

test("no more than 1,000 lines of scrollback are drawn", () => {
  using drawn = terminal(Array.from({ length: 3000 }, (_, line) => `${line}`).join("\r\n"));
  const text = new TextDecoder().decode(drawn.drawing());
  expect(text).toContain("1995");
  expect(text).not.toContain("1994");
});

test("a character is not lost when its bytes come in two writes", () => {
  const bytes = encode("a’b—c👍d");
  for (let cut = 0; cut <= bytes.length; cut++) {
    using drawn = terminal(bytes.subarray(0, cut));
    drawn.write(bytes.subarray(cut));
    expect(drawn.core.buffers.active.lines.get(0)).toBeDefined();
    expect(stateOf(drawn), `cut at ${cut}`).toEqual(stateOf(terminal(bytes)));
  }
});

test("of a long sequence only the end matters", () => {
  for (const begin of ["\x1b]52;c;", "\x1bP1$x", "\x1b_", "\x1bX"]) {
    using drawn = terminal(`a${begin}${"x".repeat(200_000)}`);
    expect(drawn.drawing().length).toBeLessThan(1000);
    const after = stateAfterDrawing(drawn, encode("rest\x1b\\b"));
    drawn.write(encode("rest\x1b\\b"));
    expect(after).toEqual(stateOf(drawn));
  }
});

test("controls inside a split sequence are executed once", () => {
  using drawn = terminal("one\x1b[1\r\n");
  const after = stateAfterDrawing(drawn, encode(";3Hx"));
  drawn.write(encode(";3Hx"));
  expect(after).toEqual(stateOf(drawn));
});

test.each(["L", "M", "S", "T", "I", "Z", "b", "@", "P", "X", "A", "C", " @", "'}"])(
  "a sequence repeated two thousand million times (%s) is soon over",
  (final) => {
    using drawn = terminal(`abc\x1b[2147483647${final}`);
    expect(drawn.drawing().length).toBeGreaterThan(0);
  },
);

test("erasing up to the last cell of the screen does not fail", () => {
  using erased = terminal("text\x1b[5;20Hx\x1b[1Jafter");
  using cleared = terminal("text\x1b[5;20Hx\x1b[2Jafter");
  expect(stateOf(erased)).toEqual(stateOf(cleared));
});

test("endless links take neither time nor memory", () => {
  const links = Array.from({ length: 20_000 }, (_, index) => `\x1b]8;;http://x/${index}\x07`).join("");
  using drawn = terminal(`${links}text\x1b]8;;\x07${"\r\n".repeat(3000)}`);
  expect(drawn.drawing().length).toBeLessThan(10_000);
});

test("a drawing of the screen alone has the same screen, and no scrollback", () => {
  fc.assert(
    fc.property(size, output, (cells, bytes) => {
      using whole = terminal(bytes, cells);
      fc.pre(isReproducible(whole));
      using shown = terminal(whole.screenDrawing(whole.drawing()), cells);
      expect(shown.core.buffers.normal.ybase).toBe(0);
      const text = { scrollback: false, styles: true };
      expect(screenText(shown, text)).toBe(screenText(whole, text));
    }),
    { numRuns: 100 },
  );
}, 60_000);

test("a drawing of the screen alone holds nothing that has scrolled off or is behind an alternate screen", () => {
  using whole = terminal(`${"scrolled\r\n".repeat(9)}\x1b[2J\x1b[Hbehind\x1b[?1049h\x1b[Hshown\x1b[6 q`);
  const drawing = new TextDecoder().decode(whole.screenDrawing(whole.drawing()));
  expect(drawing).toContain("shown");
  expect(drawing).not.toMatch(/scrolled|behind/);
  using left = terminal(`${drawing}\x1b[?1049l`);
  expect(screenText(left, { scrollback: true, styles: false }).trim()).toBe("");
});

test("a drawing of the screen alone keeps the cursor that was saved behind an alternate screen", () => {
  using whole = terminal("\x1b[3;5H\x1b[?1049h\x1b[Hshown");
  using left = terminal(whole.screenDrawing(whole.drawing()));
  left.write(new TextEncoder().encode("\x1b[?1049l"));
  const { x, y } = left.core.buffers.active;
  expect([x, y]).toEqual([4, 2]);
});
