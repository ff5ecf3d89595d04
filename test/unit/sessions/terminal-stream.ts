// Arbitrary output of programs: everything that a terminal obeys, in small pieces.
import fc from "fast-check";

const encoder = new TextEncoder();

const WORDS = [
  "a",
  "hello",
  "x y z",
  "0123456789",
  "the quick brown fox",
  "ABCDEFGHIJKLMNOPQRSTUVWXYZ",
  "~!@#$%^&*()_+`lqqk",
  "é",
  "ñandú",
  "漢",
  "漢字かな",
  "语",
  "e\u0301",
  "a\u0308\u0323",
  "\u0301",
  "👍",
  "👍🏽",
  "👩‍👩‍👧",
  "🇩🇪",
  "🇩",
  "❤️",
  "☺️",
  "한글",
  "\u1112\u1161\u11ab",
  "\u200d",
  "ก็",
  "│─┐",
  "\u00a0",
  "’",
  "€",
  "𝒳",
  "\ufe0f",
  "ﷺ",
  "נָ",
  "\u3000",
];
const CONTROLS = [
  "\r\n",
  "\r\n",
  "\n",
  "\r",
  "\t",
  "\b",
  "\x0b",
  "\x0c",
  "\x07",
  "\x00",
  "\x0e",
  "\x0f",
  "\x18",
  "\x1a",
  "\x7f",
];
const C1 = ["\x84", "\x85", "\x88", "\x8d", "\x90", "\x9b", "\x9c", "\x9d", "\x98"];
// The alignment pattern of xterm.js writes past the end of the screen in origin mode.
const SIMPLE = [
  "\x1b7",
  "\x1b8",
  "\x1bD",
  "\x1bE",
  "\x1bH",
  "\x1bM",
  "\x1b=",
  "\x1b>",
  "\x1bn",
  "\x1bo",
  "\x1b|",
  "\x1b~",
  "\x1b}",
  "\x1b[?6l\x1b#8",
  "\x1b%@",
  "\x1b%G",
  "\x1b[s",
  "\x1b[u",
  "\x1b[!p",
  "\x1b[0g",
  "\x1b[3g",
  "\x1b\\",
  "\x1b[6n",
  ...["\x1b[>1u", "\x1b[>0u", "\x1b[<u", "\x1b[<3u", "\x1b[=1u", "\x1b[=1;3u", "\x1b[>4;2m", "\x1b[>4m"],
  "\x1b[c",
];
const CHARSETS = ["\x1b(0", "\x1b(B", "\x1b)0", "\x1b)B", "\x1b*0", "\x1b+A", "\x1b(A", "\x1b(K", "\x1b-H"];
const SGR = [
  "",
  "0",
  "1",
  "2",
  "3",
  "4",
  "4:3",
  "4:0",
  "4:5",
  "21",
  "5",
  "7",
  "8",
  "9",
  "22",
  "23",
  "24",
  "25",
  "27",
  "28",
  "29",
  "53",
  "55",
  "31",
  "32",
  "37",
  "39",
  "41",
  "44",
  "47",
  "49",
  "91",
  "97",
  "101",
  "107",
  "38;5;3",
  "38;5;200",
  "48;5;17",
  "48;5;250",
  "38;2;1;2;3",
  "48;2;200;100;50",
  "38:2::9:8:7",
  "48:5:99",
  "58:5:3",
  "58:2::1:2:3",
  "59",
  "1;31",
  "0;1;4;33",
  "7;44",
];
const MODES = [
  1, 6, 7, 12, 25, 45, 66, 9, 1000, 1002, 1003, 1004, 1006, 1016, 47, 1047, 1048, 1049, 2004, 2026, 2,
];
const STRINGS = [
  "\x1b]0;title\x07",
  "\x1b]2;t\x1b\\",
  "\x1b]8;;http://a.example/1\x1b\\",
  "\x1b]8;id=k;http://b.example/?a;b\x07",
  "\x1b]8;;\x1b\\",
  "\x1b]8;;\x07",
  "\x1b]4;1;#ff0000\x07",
  "\x1b]10;?\x1b\\",
  "\x1b]52;c;aGVsbG8=\x07",
  "\x1b]weird\x07",
  "\x1bP$qm\x1b\\",
  "\x1bP1;2|17/17\x1b\\",
  "\x1b_application\x1b\\",
  "\x1bXstring\x1b\\",
  "\x1b^pm\x9c",
  "\x1b[38;2;1;2;3;4;5;6;7m",
  "\x1b[?999h",
  "\x1b[1\n;2H",
  "\x1b[<1;2M",
  "\x1b[1:2:3A",
  "\x1b[>4;1m",
  "\x1b]0;un\u0301icode ’\x9c",
];

const number = fc.oneof(
  { weight: 6, arbitrary: fc.integer({ min: 0, max: 12 }) },
  { weight: 2, arbitrary: fc.integer({ min: 0, max: 60 }) },
  { weight: 1, arbitrary: fc.constantFrom(999, 65_536, 2_147_483_647, 99_999_999_999) },
);
const numbers = fc.array(number, { maxLength: 3 }).map((all) => all.join(";"));
const moving = fc
  .tuple(numbers, fc.constantFrom(..."ABCDEFGHIJKLMPSTXZ@`abdefr".split("")))
  .map(([n, f]) => `\x1b[${n}${f}`);
const erasing = fc
  .tuple(fc.constantFrom("", "?"), fc.constantFrom("0", "1", "2", "3"), fc.constantFrom("J", "K"))
  .map((s) => `\x1b[${s.join("")}`);
const shifting = fc
  .tuple(number, fc.constantFrom(" @", " A", "'}", "'~", " q", '"q'))
  .map((s) => `\x1b[${s.join("")}`);
const mode = fc.tuple(fc.constantFrom(...MODES), fc.constantFrom("h", "l")).map(([n, f]) => `\x1b[?${n}${f}`);
const ansiMode = fc
  .tuple(fc.constantFrom("4", "20"), fc.constantFrom("h", "l"))
  .map(([n, f]) => `\x1b[${n}${f}`);

const text = fc.oneof(
  { weight: 30, arbitrary: fc.constantFrom(...WORDS) },
  {
    weight: 4,
    arbitrary: fc.string({ unit: "grapheme", maxLength: 8 }).map((word) => word.replace(/\p{Cc}/gu, ".")),
  },
  { weight: 14, arbitrary: fc.constantFrom(...CONTROLS) },
  { weight: 12, arbitrary: fc.constantFrom(...SGR).map((codes) => `\x1b[${codes}m`) },
  { weight: 14, arbitrary: moving },
  { weight: 6, arbitrary: erasing },
  { weight: 3, arbitrary: shifting },
  { weight: 6, arbitrary: mode },
  { weight: 2, arbitrary: ansiMode },
  { weight: 3, arbitrary: fc.constantFrom(...SIMPLE) },
  { weight: 2, arbitrary: fc.constantFrom(...CHARSETS) },
  { weight: 3, arbitrary: fc.constantFrom(...STRINGS) },
  { weight: 1, arbitrary: fc.constantFrom(...C1) },
  { weight: 1, arbitrary: fc.constant("\x1bc") },
);

/** Output with all that a terminal knows, and some bytes that are no UTF-8. */
export const output: fc.Arbitrary<Uint8Array> = fc
  .array(
    fc.oneof(
      { weight: 40, arbitrary: text.map((piece) => encoder.encode(piece)) },
      { weight: 1, arbitrary: fc.uint8Array({ maxLength: 4 }) },
    ),
    { maxLength: 100, size: "max" },
  )
  .map((pieces) => {
    const all = new Uint8Array(pieces.reduce((sum, piece) => sum + piece.length, 0));
    let at = 0;
    for (const piece of pieces) {
      all.set(piece, at);
      at += piece.length;
    }
    return all;
  });

export const size = fc.record({
  cols: fc.integer({ min: 2, max: 14 }),
  rows: fc.integer({ min: 1, max: 6 }),
});
