import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { type CommandMark, TitleScan } from "../../../../src/sessions/pty/title-scan.ts";

const encode = (text: string): Uint8Array => new TextEncoder().encode(text);
const ESC = "\x1b";

/** The last title and whether a bell rang, over all pieces. */
function scanAll(pieces: readonly Uint8Array[]): { title: string | undefined; hasBell: boolean } {
  const scan = new TitleScan();
  let title: string | undefined;
  let hasBell = false;
  for (const bytes of pieces) {
    const found = scan.scan(bytes);
    title = found.title ?? title;
    hasBell ||= found.hasBell;
  }
  return { title, hasBell };
}

describe("a title", () => {
  test.each<[string, string, string | undefined]>([
    ["OSC 0 up to BEL", `${ESC}]0;both\x07`, "both"],
    ["OSC 2 up to BEL", `text${ESC}]2;window\x07text`, "window"],
    ["OSC 2 up to ST", `${ESC}]2;string end${ESC}\\`, "string end"],
    ["in UTF-8", `${ESC}]2;\u65e5\u672c \u{1F600}\x07`, "\u65e5\u672c \u{1F600}"],
    ["that is empty", `${ESC}]2;\x07`, ""],
    ["with controls, which are left out", `${ESC}]2;a\nb\tc\u009bd\x07`, "abcd"],
    ["the last of several", `${ESC}]2;one\x07${ESC}]0;two${ESC}\\${ESC}]2;three\x07`, "three"],
    ["the last, whatever ends it", `${ESC}]2;one\x07${ESC}]0;two${ESC}\\`, "two"],
    ["an icon name alone is none", `${ESC}]1;icon\x07`, undefined],
    ["a link is none", `${ESC}]8;;http://x\x07link${ESC}]8;;\x07`, undefined],
    ["a colour is none", `${ESC}]10;?\x07`, undefined],
    ["one that was never ended is none", `${ESC}]2;text`, undefined],
    ["one that another sequence broke is none", `${ESC}]2;te${ESC}[31mxt\x07`, undefined],
    ["one that was broken off is none", `${ESC}]2;te\x18xt\x07`, undefined],
    ["before a link is the title", `${ESC}]2;t${ESC}\\${ESC}]8;;u\x07`, "t"],
    ["one of more than 512 bytes is none", `${ESC}]2;${"x".repeat(600)}\x07`, undefined],
    ["plain text is none", "]2;text\\ \\", undefined],
  ])("%s", (_, output, title) => {
    expect(scanAll([encode(output)]).title).toBe(title);
    const padding = "y".repeat(2000);
    expect(scanAll([encode(padding + output + padding)]).title).toBe(title);
  });

  test("is found however the output is cut", () => {
    const part = fc.oneof(
      fc.constantFrom(
        `${ESC}]2;first\x07`,
        `${ESC}]0;\u65e5${ESC}\\`,
        "\x07",
        `${ESC}[1m`,
        `${ESC}]8;;u\x07`,
        "\\",
        "text\r\n",
      ),
      fc.string({ unit: fc.constantFrom(..."ab ;]02"), maxLength: 30 }),
      fc.nat(1500).map((length) => "z".repeat(length)),
    );
    return fc.assert(
      fc.property(
        fc.array(part, { maxLength: 12 }),
        fc.array(fc.nat(4000), { maxLength: 20 }),
        (parts, cuts) => {
          const whole = encode(parts.join(""));
          const places = [0, ...cuts.map((cut) => Math.min(cut, whole.length)), whole.length].sort(
            (a, b) => a - b,
          );
          const pieces = places.slice(1).map((end, index) => whole.subarray(places[index], end));
          expect(scanAll(pieces)).toEqual(scanAll([whole]));
        },
      ),
      { numRuns: 500 },
    );
  });

  test("is found a byte at a time", () => {
    const output = encode(`${ESC}]2;\u65e5 one\x07 text ${ESC}]0;two${ESC}\\`);
    expect(scanAll(Array.from(output, (byte) => Uint8Array.of(byte)))).toEqual({
      title: "two",
      hasBell: false,
    });
  });
});

describe("a bell", () => {
  test("rings once for a piece, and the end of a sequence is none", () => {
    const scan = new TitleScan();
    expect(scan.scan(encode("a\x07b\x07"))).toEqual({ marks: [], hasBell: true });
    expect(scan.scan(encode("c"))).toEqual({ marks: [], hasBell: false });
    expect(scan.scan(encode(`${ESC}]2;t\x07`))).toEqual({ title: "t", marks: [], hasBell: false });
    expect(scan.scan(encode(`${ESC}[1m\x07`))).toEqual({ marks: [], hasBell: true });
  });

  test("rings when it ends nothing, also right after a title", () => {
    expect(scanAll([encode(`${ESC}]2;t\x07\x07`)])).toEqual({ title: "t", hasBell: true });
    expect(scanAll([encode(`${"\x07".repeat(5)}${ESC}]2;t\x07`)])).toEqual({ title: "t", hasBell: true });
    expect(scanAll([encode(`${ESC}]2;t\x07text\x07`)])).toEqual({ title: "t", hasBell: true });
  });
});

describe("marks of a shell's integration", () => {
  const marked = `a${ESC}]133;A\x07$ ${ESC}]133;C${ESC}\\out${ESC}]133;D;7\x07${ESC}]133;D${ESC}\\${ESC}]133;C;x=y\x07`;
  const marks = [
    { kind: "started" },
    { kind: "finished", exitCode: 7 },
    { kind: "finished" },
    { kind: "started" },
  ];

  test("are found in order, whatever ends them, and ring no bell", () => {
    expect(new TitleScan().scan(encode(marked))).toEqual({ hasBell: false, marks });
  });

  test("are found once each, however the output is cut", () => {
    for (const size of [1, 2, 3, 7, 20]) {
      const scan = new TitleScan();
      const bytes = encode(`${"x".repeat(700)}${marked}${"y".repeat(700)}`);
      const found: CommandMark[] = [];
      for (let at = 0; at < bytes.length; at += size)
        found.push(...scan.scan(bytes.slice(at, at + size)).marks);
      expect(found).toEqual(marks);
    }
  });
});

describe("a notification", () => {
  test.each<[string, string, { title: string; body: string } | undefined]>([
    ["OSC 9", `${ESC}]9;built\x07`, { title: "", body: "built" }],
    ["OSC 777", `${ESC}]777;notify;make;all is; built${ESC}\\`, { title: "make", body: "all is; built" }],
    ["without controls", `${ESC}]9;a\nb\u009bc\x07`, { title: "", body: "abc" }],
    ["the last of several", `${ESC}]9;one\x07${ESC}]9;two\x07`, { title: "", body: "two" }],
    ["progress is none", `${ESC}]9;4;1;50\x07`, undefined],
    ["another OSC 777 is none", `${ESC}]777;preexec\x07`, undefined],
    ["an empty one is none", `${ESC}]9;\x07`, undefined],
  ])("%s", (_, output, notification) => {
    expect(new TitleScan().scan(encode(output)).notification).toEqual(notification);
  });
});
