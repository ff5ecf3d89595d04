import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { ServiceError } from "../../../../src/protocol/errors.ts";
import { encodeSnapshot, type ScreenSnapshot } from "../../../../src/protocol/frame/snapshot.ts";
import {
  CellAttribute,
  type CellColour,
  type SnapshotCell,
} from "../../../../src/protocol/frame/snapshot-cell.ts";
import { decodeSnapshot } from "../../../../src/web/previews/decode-snapshot.ts";
import { hex, toHex, utf8 } from "../hex.ts";

const { Bold, Italic, Inverse, Underline } = CellAttribute;
const BLANK: SnapshotCell = { text: " ", attributes: 0 };
const K: SnapshotCell = { text: "k", attributes: 0 };
const WIDE: SnapshotCell = { text: "語", bg: { r: 16, g: 32, b: 48 }, attributes: 0 };
const ROW_AT = 28;
const CELLS_AT = 31;

/** Facts 2.6, checked there against the encoder that old clients know. */
const CELLS: readonly { readonly name: string; readonly cell: SnapshotCell; readonly bytes: string }[] = [
  { name: "bold O in palette 1", cell: { text: "O", fg: 1, attributes: Bold }, bytes: "A1 4F 01 01" },
  { name: "plain k", cell: K, bytes: "01 6B" },
  { name: "plain space", cell: BLANK, bytes: "00" },
  { name: "space on palette 4", cell: { text: " ", bg: 4, attributes: 0 }, bytes: "90 00 04" },
  { name: "inverse dollar", cell: { text: "$", attributes: Inverse }, bytes: "81 24 10" },
  { name: "wide character on RGB", cell: WIDE, bytes: "D6 03 E8 AA 9E 00 10 20 30" },
  {
    name: "italic é, RGB on palette 7",
    cell: { text: "é", fg: { r: 255, g: 128, b: 0 }, bg: 7, attributes: Italic },
    bytes: "FA 02 C3 A9 02 FF 80 00 07",
  },
];

const WHOLE: ScreenSnapshot = {
  cols: 6,
  viewportY: 2,
  cursorX: 1,
  cursorY: 2,
  rows: [[{ text: "O", fg: 1, attributes: Bold }, K, BLANK, WIDE], [], [{ text: "$", attributes: Inverse }]],
};
const WHOLE_BYTES = `54 56 01 00 06 00 00 00 03 00 00 00 02 00 00 00 01 00 00 00 02 00 00 00 00 00 00 00
  FD 04 00 A1 4F 01 01 01 6B 00 D6 03 E8 AA 9E 00 10 20 30 FE 01 FD 01 00 81 24 10`;

function screen(...rows: readonly (readonly SnapshotCell[])[]): ScreenSnapshot {
  return { cols: 80, viewportY: 0, cursorX: 0, cursorY: 0, rows };
}

/** The bytes of one cell in front of another that keeps it from being cut. */
function cellHex(cell: SnapshotCell): string {
  return toHex(encodeSnapshot(screen([cell, K])).slice(CELLS_AT, -2));
}

describe("vectors", () => {
  test.each(CELLS)("$name is encoded and decoded", ({ cell, bytes }) => {
    expect(cellHex(cell)).toBe(bytes);
    expect(decodeSnapshot(encodeSnapshot(screen([cell, K]))).rows).toEqual([[cell, K]]);
  });

  test("the whole screen is 55 bytes, those of the vector, both ways", () => {
    expect(toHex(encodeSnapshot(WHOLE))).toBe(toHex(hex(WHOLE_BYTES)));
    expect(encodeSnapshot(WHOLE)).toHaveLength(55);
    expect(decodeSnapshot(hex(WHOLE_BYTES))).toEqual(WHOLE);
  });

  test("the other order of the magic is read too", () => {
    expect(decodeSnapshot(hex(WHOLE_BYTES.replace("54 56", "56 54")))).toEqual(WHOLE);
  });
});

describe("what an encoder must take care of", () => {
  test("a blank screen has two empty rows: 32 bytes, which no client drops", () => {
    for (const rows of [[], [[]], [[BLANK, BLANK]], Array.from({ length: 24 }, () => [BLANK])]) {
      const bytes = encodeSnapshot(screen(...rows));
      expect(bytes).toHaveLength(32);
      expect(toHex(bytes.slice(ROW_AT))).toBe("FE 01 FE 01");
    }
  });

  test("no screen has fewer than 32 bytes", () => {
    expect(encodeSnapshot(screen([{ text: " ", attributes: Underline }])).length).toBeGreaterThanOrEqual(32);
    expect(encodeSnapshot(screen([K])).length).toBeGreaterThanOrEqual(32);
  });

  test("blank rows at the bottom and blank cells at the end are left out", () => {
    const bytes = encodeSnapshot(screen([], [BLANK, K, BLANK, BLANK], [BLANK], []));
    expect(toHex(bytes.slice(ROW_AT))).toBe("FE 01 FD 02 00 00 01 6B");
    expect(bytes[8]).toBe(2);
  });

  test("a row of one black space is empty, one of a coloured space is not", () => {
    const black = { text: " ", fg: 0, bg: 0, attributes: 0 };
    expect(toHex(encodeSnapshot(screen([black], [K])).slice(ROW_AT))).toBe("FE 01 FD 01 00 01 6B");
    expect(toHex(encodeSnapshot(screen([{ ...black, bg: 4 }])).slice(ROW_AT))).toBe("FD 01 00 B0 00 00 04");
  });

  test("dark blues stay RGB instead of turning into palette colours", () => {
    const navy: SnapshotCell = { text: "x", fg: { r: 0, g: 0, b: 128 }, attributes: 0 };
    expect(cellHex(navy)).toBe("A9 78 00 01 00 80");
    expect(cellHex({ text: "x", bg: { r: 0, g: 0, b: 0 }, attributes: 0 })).toBe("95 78 00 01 00 00");
  });

  test("a letter with a combining mark keeps the mark", () => {
    expect(cellHex({ text: "e\u0301", attributes: 0 })).toBe("42 03 65 CC 81");
  });

  test("a character outside the first plane is whole", () => {
    expect(cellHex({ text: "😀", attributes: 0 })).toBe("42 04 F0 9F 98 80");
  });

  test("a text of more than 255 bytes is cut between two characters", () => {
    const [row] = decodeSnapshot(encodeSnapshot(screen([{ text: "語".repeat(200), attributes: 0 }]))).rows;
    expect(row).toEqual([{ text: "語".repeat(85), attributes: 0 }]);
    const [long] = decodeSnapshot(
      encodeSnapshot(screen([{ text: "ab".repeat(200), attributes: 0 }, K])),
    ).rows;
    expect(long).toEqual([{ text: "ab".repeat(128).slice(0, 255), attributes: 0 }, K]);
    const marks = `e${"\u0301".repeat(300)}`;
    const [marked] = decodeSnapshot(encodeSnapshot(screen([{ text: marks, attributes: 0 }]))).rows;
    expect(marked).toEqual([{ text: marks.slice(0, 128), attributes: 0 }]);
  });

  test("a byte order mark in a cell stays", () => {
    const marked = screen([{ text: "\ufeffx", attributes: 0 }]);
    expect(decodeSnapshot(encodeSnapshot(marked)).rows).toEqual(marked.rows);
  });

  test("an empty text is a space", () => {
    expect(cellHex({ text: "", attributes: 0 })).toBe("00");
  });
});

describe("decoding", () => {
  const header = (rows: string) => `54 56 01 00 50 00 00 00 ${rows} ${"00 ".repeat(16)}`;

  test("one marker may stand for many empty rows, and never for more than there are", () => {
    expect(decodeSnapshot(hex(`${header("03 00 00 00")} FE 03`)).rows).toEqual([[], [], []]);
    expect(decodeSnapshot(hex(`${header("03 00 00 00")} FE FF`)).rows).toHaveLength(3);
  });

  test("negative positions are read as such, and bytes after the last row ignored", () => {
    const bytes = hex(
      `54 56 01 00 50 00 00 00 00 00 00 00 FF FF FF FF ${"FE FF FF FF ".repeat(2)} 00 00 00 00 AA`,
    );
    expect(decodeSnapshot(bytes)).toEqual({ cols: 80, viewportY: -1, cursorX: -2, cursorY: -2, rows: [] });
  });

  test.each([
    ["27 bytes", "54 56 01 ".repeat(9), "27 bytes, at least 28 are needed"],
    ["another magic", header("00 00 00 00").replace("54 56", "54 54"), "wrong magic"],
    ["version 2", header("00 00 00 00").replace("54 56 01", "54 56 02"), "version 2, not 1"],
    ["1001 rows", header("E9 03 00 00"), "1001 rows, at most 1000"],
    ["an unknown marker", `${header("01 00 00 00")} FC 01`, "252 begins no row"],
    ["a missing row", `${header("02 00 00 00")} FE 01`, "it ends too early"],
    ["a cell that is cut", `${header("01 00 00 00")} FD 01 00 42 03 E8 AA`, "it ends too early"],
    ["a colour that is cut", `${header("01 00 00 00")} FD 01 00 B8 00 01 02`, "it ends too early"],
    ["a cell that is no UTF-8", `${header("01 00 00 00")} FD 01 00 42 01 FF`, "a text in it is not UTF-8"],
  ])("%s is refused", (_, bytes, reason) => {
    const decode = () => decodeSnapshot(hex(bytes));
    expect(decode).toThrow(new ServiceError("invalid_request", `Invalid SNAPSHOT_VT payload: ${reason}.`));
  });

  test("every prefix of a snapshot is refused", () => {
    const bytes = encodeSnapshot(WHOLE);
    for (let length = 0; length < bytes.length; length++) {
      expect(() => decodeSnapshot(bytes.subarray(0, length)), `${length} bytes`).toThrow(
        expect.objectContaining({ code: "invalid_request" }),
      );
    }
  });
});

const byte = fc.integer({ min: 0, max: 255 });
const colour: fc.Arbitrary<CellColour> = fc.oneof(
  byte,
  fc.record({ r: fc.integer({ min: 1, max: 255 }), g: byte, b: byte }),
);
const cell: fc.Arbitrary<SnapshotCell> = fc.record(
  {
    text: fc
      .string({ unit: "grapheme", minLength: 1, maxLength: 3 })
      .filter((text) => utf8(text).length <= 255),
    fg: colour,
    bg: colour,
    attributes: fc.integer({ min: 0, max: 0x7f }),
  },
  { requiredKeys: ["text", "attributes"] },
);

test("every cell that is not blank is decoded unchanged", () => {
  fc.assert(
    fc.property(fc.array(fc.array(cell, { maxLength: 8 }), { maxLength: 6 }), (rows) => {
      // A cell that is surely not blank ends each row, so that nothing is cut.
      const whole = screen(...rows.map((row) => [...row, K]), [K]);
      expect(decodeSnapshot(encodeSnapshot(whole))).toEqual(whole);
    }),
    { numRuns: 1_000 },
  );
});
