import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { JournalEntry } from "../../../../src/sessions/journal/reader.ts";
import { CastWriter, castHeader } from "../../../../src/sessions/journal/recording.ts";
import { utf8 } from "../../protocol/hex.ts";

/** Lines as text. */
class LineWriter {
  readonly #writer = new CastWriter();

  line(event: JournalEntry): string {
    return decoded(this.#writer.line(event));
  }

  end(): string {
    return decoded(this.#writer.end());
  }
}

function output(time: number, bytes: Uint8Array): JournalEntry {
  return { kind: "o", time, bytes };
}

function noted(kind: "i" | "r" | "m", time: number, data: string): JournalEntry {
  return { kind, time, data };
}

/** The text of all output lines, as a player puts it together; each line is checked to be one JSON array. */
function played(lines: string): string {
  return lines
    .split("\n")
    .slice(0, -1)
    .map((line): unknown => JSON.parse(line))
    .map((event) => (Array.isArray(event) && event[1] === "o" ? String(event[2]) : ""))
    .join("");
}

function record(chunks: readonly Uint8Array[]): string {
  const writer = new LineWriter();
  return chunks.map((bytes, i) => writer.line(output(i, bytes))).join("") + writer.end();
}

/** All bytes decoded at once. */
function decoded(bytes: Uint8Array): string {
  return new TextDecoder("utf-8", { ignoreBOM: true }).decode(bytes);
}

describe("the header", () => {
  test("is one line of JSON without unknown members", () => {
    expect(decoded(castHeader({ width: 80, height: 24, timestamp: 1_700_000_000 }))).toBe(
      '{"version":2,"width":80,"height":24,"timestamp":1700000000}\n',
    );
  });

  test("carries command, title and env", () => {
    const fields = {
      width: 132,
      height: 43,
      timestamp: 1_700_000_000,
      command: 'sh -c "echo é"',
      title: "two\nlines",
      env: { SHELL: "/bin/bash", TERM: "xterm-256color" },
    };
    const header = decoded(castHeader(fields));
    expect(header.indexOf("\n")).toBe(header.length - 1);
    expect(JSON.parse(header)).toEqual({ version: 2, ...fields });
  });
});

describe("lines", () => {
  test("each kind has its letter", () => {
    const writer = new LineWriter();
    expect(writer.line(output(0, utf8("hi\r\n")))).toBe('[0.000000, "o", "hi\\r\\n"]\n');
    expect(writer.line(noted("i", 0.5, "ls\r"))).toBe('[0.500000, "i", "ls\\r"]\n');
    expect(writer.line(noted("r", 1.25, "132x43"))).toBe('[1.250000, "r", "132x43"]\n');
    expect(writer.line(noted("m", 2, 'say "now"'))).toBe('[2.000000, "m", "say \\"now\\""]\n');
  });

  test("each character is escaped as JSON.stringify does, wherever in the text it is", () => {
    const characters = [
      ...Array.from({ length: 0x100 }, (_, code) => String.fromCharCode(code)),
      "\u2028",
      "你",
      "🎉",
    ];
    for (const character of characters) {
      const texts = Array.from(
        { length: 18 },
        (_, at) => `${"a".repeat(at)}${character}${"é~".repeat(at % 3)}`,
      );
      for (const text of [...texts, character.repeat(9)])
        expect(new LineWriter().line(output(0, utf8(text)))).toBe(
          `[0.000000, "o", ${JSON.stringify(text)}]\n`,
        );
    }
  });

  test("control characters, quotes and separators are escaped", () => {
    const text = '\x1b[31m"\\\x00\x07\t\x7f\u2028\u2029\r\n';
    const line = new LineWriter().line(output(0, utf8(text)));
    expect(line.indexOf("\n")).toBe(line.length - 1);
    expect(line).toContain("\\u001b[31m");
    expect(played(line)).toBe(text);
  });

  test.each([
    [0, "0.000000"],
    [0.0000004, "0.000000"],
    [0.0000006, "0.000001"],
    [1.1, "1.100000"],
    [59.9999999, "60.000000"],
    [86_400.000001, "86400.000001"],
    [31_536_000.123456, "31536000.123456"],
  ])("%d seconds are written as %s", (time, text) => {
    expect(new LineWriter().line(noted("m", time, ""))).toBe(`[${text}, "m", ""]\n`);
  });

  test("time never goes back", () => {
    const writer = new LineWriter();
    const times = [1, 0.5, -3, Number.NaN, Number.POSITIVE_INFINITY, 1.000001].map((time) =>
      writer.line(noted("m", time, "")).slice(1, 9),
    );
    expect(times).toEqual(["1.000000", "1.000000", "1.000000", "1.000000", "1.000000", "1.000001"]);
  });
});

describe("characters", () => {
  test("a byte order mark is output as any other character", () => {
    expect(played(record([utf8("\ufeffa"), utf8("\ufeffb")]))).toBe("\ufeffa\ufeffb");
  });

  test("an incomplete character is written with the time of its last byte", () => {
    const writer = new LineWriter();
    const [first, ...rest] = utf8("é");
    expect(writer.line(output(1, Uint8Array.of(first ?? 0)))).toBe("");
    expect(writer.line(noted("m", 2, "x"))).toBe('[2.000000, "m", "x"]\n');
    expect(writer.line(output(3, Uint8Array.from(rest)))).toBe('[3.000000, "o", "é"]\n');
    expect(writer.end()).toBe("");
  });

  test("input and output do not mix", () => {
    const writer = new LineWriter();
    const [a, b] = utf8("é");
    writer.line(output(0, Uint8Array.of(a ?? 0)));
    expect(writer.line(noted("i", 0, "ls"))).toBe('[0.000000, "i", "ls"]\n');
    expect(writer.line(output(0, Uint8Array.of(b ?? 0)))).toBe('[0.000000, "o", "é"]\n');
  });

  test("an incomplete character is written at the end, with the last time", () => {
    const writer = new LineWriter();
    writer.line(output(2, Uint8Array.of(0x61, 0xf0, 0x9f)));
    writer.line(noted("m", 3, ""));
    expect(writer.end()).toBe('[3.000000, "o", "\ufffd"]\n');
    expect(writer.end()).toBe("");
  });

  test("invalid UTF-8 becomes U+FFFD, and the text after it stays intact", () => {
    expect(played(record([Uint8Array.of(0x61, 0xff, 0x62), Uint8Array.of(0xc3, 0x28), utf8("é")]))).toBe(
      "a\ufffdb\ufffd(é",
    );
  });

  test("text of 1 to 4 byte characters is whole however its bytes are split in three", () => {
    const text = "aé語😀e\u0301\u0000z";
    const bytes = utf8(text);
    for (let first = 0; first <= bytes.length; first++) {
      for (let second = first; second <= bytes.length; second++) {
        const chunks = [bytes.slice(0, first), bytes.slice(first, second), bytes.slice(second)];
        const lines = record(chunks);
        expect(played(lines), `split at ${first} and ${second}`).toBe(text);
        expect(lines).not.toContain("\ufffd");
      }
    }
  });

  test("text is whole when its bytes come one by one", () => {
    const text = "aé語😀\u{10ffff}";
    expect(played(record(Array.from(utf8(text), (byte) => Uint8Array.of(byte))))).toBe(text);
  });
});

const nastyByte = fc.oneof(
  fc.constantFrom(
    0xc3,
    0xa9,
    0xe8,
    0xaa,
    0x9e,
    0xf0,
    0x9f,
    0x98,
    0x80,
    0xed,
    0xa0,
    0xf4,
    0x90,
    0xc0,
    0x22,
    0x5c,
  ),
  fc.integer({ min: 0, max: 255 }),
);

test("random bytes in random chunks give the same text as decoding them at once", () => {
  fc.assert(
    fc.property(fc.array(fc.array(nastyByte, { maxLength: 7 }), { maxLength: 12 }), (chunks) => {
      const whole = Uint8Array.from(chunks.flat());
      expect(played(record(chunks.map((chunk) => Uint8Array.from(chunk))))).toBe(decoded(whole));
    }),
    { numRuns: 10_000 },
  );
});
