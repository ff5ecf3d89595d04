import { existsSync, readdirSync, readFileSync, readlinkSync, truncateSync, writeFileSync } from "node:fs";
import fc from "fast-check";
import { expect, test } from "vitest";
import { concatBytes } from "../../../../../src/lib/data/collect.ts";
import type { TerminalSize } from "../../../../../src/protocol/schemas/session.ts";
import { ScreenTerminal } from "../../../../../src/sessions/screen/terminal/terminal.ts";
import { restoreScreen, saveScreen } from "../../../../../src/sessions/screen/thread/checkpoint.ts";
import type { ScreenSource } from "../../../../../src/sessions/screen/thread/message.ts";
import { type ParsedScreen, parseOutput } from "../../../../../src/sessions/screen/thread/parse.ts";
import { ScreenJournal } from "../../screen-journal.ts";
import { stateOf } from "../../terminal-state.ts";
import { output, size } from "../../terminal-stream.ts";

const encoder = new TextEncoder();
const SIZE: TerminalSize = { cols: 80, rows: 24 };
const LOG_LINE = "12:34:56 INFO request handled path=/api/items status=200 dur=12ms\r\n";
const MIB = 1024 * 1024;

type Parsed = { readonly screen: ParsedScreen; readonly steps: number };

function parse(source: ScreenSource, kept?: ParsedScreen): Parsed {
  const screen = kept ?? restoreScreen(source);
  return { screen, steps: 1 + [...parseOutput(screen, source)].length };
}

function parseAndSave(source: ScreenSource): Parsed {
  const parsed = parse(source);
  saveScreen(parsed.screen, source, parsed.screen.terminal.drawing());
  return parsed;
}

function stateAfter(bytes: Uint8Array, cells = SIZE): object {
  using terminal = new ScreenTerminal(cells);
  terminal.write(bytes);
  return stateOf(terminal);
}

/** At least `length` bytes of the same text. */
function repeated(text: string, length: number): Uint8Array {
  const once = encoder.encode(text);
  return concatBytes(Array.from({ length: Math.ceil(length / once.length) }, () => once));
}

const content = fc.oneof(
  fc.constantFrom("a line of a log", "\x1b[32mINFO\x1b[0m coloured", "\x1b[0;1mbold", "", "tab\there"),
  fc.constantFrom("\x1b[41mnot reset", "back\b\bspace", "over\rwritten", "漢字 ° ½ 👍", "x".repeat(300)),
  fc.string({ unit: "grapheme", maxLength: 20 }).map((text) => text.replace(/\p{Cc}/gu, ".")),
);
const ending = fc.oneof(
  { weight: 20, arbitrary: fc.constant("\r\n") },
  { weight: 1, arbitrary: fc.constantFrom("\n", "\r\r\n", "\v", "\f", "") },
);
const lines = fc
  .array(fc.tuple(content, ending), { minLength: 1, maxLength: 100 })
  .map((all) => `${all.flat().join("")}\r\n`);

test("skipping plain output does not change the screen", () => {
  using journal = new ScreenJournal();
  fc.assert(
    fc.property(size, output, lines, output, lines, (cells, before, first, between, second) => {
      const bytes = concatBytes([before, repeated(first, 700_000), between, repeated(second, 700_000)]);
      const { screen } = parse(journal.source(bytes, cells));
      expect(stateOf(screen.terminal)).toEqual(stateAfter(bytes, cells));
    }),
    { numRuns: 12 },
  );
}, 60_000);

test.each([
  ["large", { cols: 1_000, rows: 1_000 }, 32],
  ["usual", SIZE, 9_000],
])("one step of a %s screen parses few sequences that change all of it", (_, cells, most) => {
  using journal = new ScreenJournal();
  const source = journal.source(repeated("\x1b[2J", 10_000), cells);
  const screen = restoreScreen(source);
  const steps = parseOutput(screen, source);
  steps.next();
  expect(screen.offset).toBeLessThanOrEqual(most);
  steps.return(undefined);
});

test("long plain output is hardly parsed at all", () => {
  using journal = new ScreenJournal();
  const bytes = concatBytes([repeated(LOG_LINE, 32 * MIB), encoder.encode("\x1b[?2004h$ ")]);
  const { steps } = parse(journal.source(bytes));
  // 128 blocks were looked at, twice; parsing it would take 3,840 steps.
  expect(steps).toBeLessThan(300);
});

test.each([
  ["with colours that are reset", "", "\x1b[32mINFO\x1b[0m started\r\n"],
  ["in one colour that never is", "\x1b[1m\x1b[32m", LOG_LINE],
  ["in other alphabets", "", "12:34 журнал 日本語 °C\r\n"],
])("the same %s", (_, begin, line) => {
  using journal = new ScreenJournal();
  const bytes = concatBytes([encoder.encode(begin), repeated(line, 4 * MIB)]);
  const { screen, steps } = parse(journal.source(bytes));
  expect(steps).toBeLessThan(60);
  expect(stateOf(screen.terminal)).toEqual(stateAfter(bytes));
});

test.each([
  ["a scroll region", "\x1b[2;5r"],
  ["backspace that goes up", "\x1b[?45h"],
  ["a sequence that is still open", "\x1b]0;title"],
  ["colours that are never reset", "", "\x1b[32mINFO \x1b[1mstarted\r\n"],
  ["a line without an end", "", "0123456789"],
])("%s makes all of it be parsed", (_, begin, line = LOG_LINE) => {
  using journal = new ScreenJournal();
  const bytes = concatBytes([encoder.encode(begin), repeated(line, MIB)]);
  const { screen, steps } = parse(journal.source(bytes));
  expect(steps).toBeGreaterThan(120);
  expect(stateOf(screen.terminal)).toEqual(stateAfter(bytes));
});

test("a screen far behind begins where the terminal was reset last", () => {
  using journal = new ScreenJournal();
  const drawing = repeated("\x1b[Htop\x1b[5;5Hmiddle\x1b[31m", 4 * MIB);
  const bytes = concatBytes([drawing, encoder.encode("\x1b[?25l\x1b[1049h\x1bcafter")]);
  const { screen, steps } = parse(journal.source(bytes));
  expect(steps).toBeLessThan(5);
  expect(screen.offset).toBe(bytes.length);
  expect(stateOf(screen.terminal)).toEqual(stateAfter(encoder.encode("after")));
});

test("a reset is found where two blocks meet", () => {
  using journal = new ScreenJournal();
  const after = repeated("\x1b[Hdrawn\x1b[31m", 256 * 1024).subarray(0, 256 * 1024 - 1);
  const bytes = concatBytes([repeated("\x1b[5;5Hbefore", 3 * MIB), encoder.encode("\x1bc"), after]);
  const { screen, steps } = parse(journal.source(bytes));
  expect(steps).toBeLessThan(50);
  expect(stateOf(screen.terminal)).toEqual(stateAfter(after));
});

test("a terminal whose links are full is redrawn", () => {
  using journal = new ScreenJournal();
  const link = (index: number): string =>
    `\x1b]8;;http://example/${index}${"x".repeat(2000)}\x07${index}\x1b]8;;\x07\r\n`;
  const source = journal.source(Array.from({ length: 2000 }, (_, index) => link(index)).join(""), SIZE);
  const first = parse({ ...source, upTo: source.upTo - 10 * link(1990).length });
  expect(first.screen.terminal.links.isFull).toBe(true);
  const { terminal } = parse(source, first.screen).screen;
  expect(terminal.links.isFull).toBe(false);
  expect(new TextDecoder().decode(terminal.drawing())).toContain("http://example/1999");
});

test("the terminal has each size from its offset on", () => {
  using journal = new ScreenJournal();
  const parts = ["\x1b[5;70Hone ", "two ".repeat(40), "\r\nthree", ""].map((text) => encoder.encode(text));
  const source = journal.source(concatBytes(parts));
  const offsets = [0, 11, 171, 178];
  const sizes = [SIZE, { cols: 30, rows: 5 }, { cols: 100, rows: 30 }, { cols: 20, rows: 10 }];
  const { screen } = parse({
    ...source,
    sizes: sizes.map((cells, index) => ({ ...cells, offset: offsets[index] ?? 0 })),
  });
  using expected = new ScreenTerminal(SIZE);
  for (const [index, part] of parts.entries()) {
    expected.resize(sizes[index] ?? SIZE);
    expected.write(part);
  }
  expect(screen.size).toEqual({ cols: 20, rows: 10 });
  expect(stateOf(screen.terminal)).toEqual(stateOf(expected));
});

test("a kept terminal parses only new output", () => {
  using journal = new ScreenJournal();
  const bytes = repeated("\x1b[Hall of this is parsed\r\n", MIB);
  const source = journal.source(bytes);
  const first = parse({ ...source, upTo: bytes.length - 100 });
  const second = parse(source, first.screen);
  expect(second.steps).toBe(2);
  expect(stateOf(second.screen.terminal)).toEqual(stateAfter(bytes));
});

test("parsing continues at a checkpoint, and the screen is the same", () => {
  using journal = new ScreenJournal();
  const bytes = concatBytes([repeated("\x1b[Hall of this is parsed\r\n", MIB), encoder.encode("\x1b[3")]);
  const source = journal.source(bytes);
  const first = parseAndSave(source);
  const second = parse(source);
  expect(first.steps).toBeGreaterThan(30);
  expect(second.steps).toBe(1);
  expect(second.screen.checkpoint).toBe(bytes.length);
  expect(stateOf(second.screen.terminal)).toEqual(stateOf(first.screen.terminal));
});

test.each([
  ["torn", (path: string) => truncateSync(path, 100)],
  ["empty", (path: string) => truncateSync(path, 0)],
  ["changed by one bit", (path: string) => changeByte(path, 60)],
  ["of another version", (path: string) => changeByte(path, 12)],
])("a checkpoint that is %s is not used", (_, spoil) => {
  using journal = new ScreenJournal();
  const source = journal.source("some output");
  parseAndSave(source);
  spoil(source.checkpointPath);
  expect(parse(source).screen.checkpoint).toBe(0);
});

test("a checkpoint of other output or from beyond the end is not used", () => {
  using journal = new ScreenJournal();
  const source = journal.source("some output");
  parseAndSave(source);
  expect(parse({ ...source, upTo: 4 }).screen.checkpoint).toBe(0);
  writeFileSync(source.output, "else output");
  expect(parse(source).screen.checkpoint).toBe(0);
});

test("a checkpoint that cannot be written is ignored", () => {
  using journal = new ScreenJournal();
  const source = { ...journal.source("some output"), checkpointPath: "/nonexistent/checkpoint" };
  expect(parseAndSave(source).screen.checkpoint).toBe(0);
  expect(existsSync(source.checkpointPath)).toBe(false);
});

test("missing output fails, and empty output needs no file", () => {
  using journal = new ScreenJournal();
  const source = journal.source("some output");
  expect(() => parse({ ...source, upTo: 12 })).toThrow("ends at byte 11, not at 12");
  expect(() => parse({ ...source, output: "/nonexistent/output" })).toThrow("ENOENT");
  expect(parse({ ...source, output: "/nonexistent/output", upTo: 0 }).screen.offset).toBe(0);
});

function changeByte(path: string, at: number): void {
  const bytes = readFileSync(path);
  bytes[at] = (bytes[at] ?? 0) ^ 1;
  writeFileSync(path, bytes);
}

test("output that cannot be read up to its checkpoint leaves no file open", () => {
  using journal = new ScreenJournal();
  const source = journal.source(LOG_LINE.repeat(1_000));
  parseAndSave(source);
  truncateSync(source.output, 100);
  expect(() => parse(source)).toThrow(" ends at byte ");
  const open = readdirSync("/proc/self/fd").map((fd) => targetOf(`/proc/self/fd/${fd}`));
  expect(open).not.toContain(source.output);
});

/** Undefined for the descriptor of the listing itself. */
function targetOf(link: string): string | undefined {
  return existsSync(link) ? readlinkSync(link) : undefined;
}
