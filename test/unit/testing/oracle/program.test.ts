import { expect, test } from "vitest";
import { oracleProgram } from "../../../../packages/testing/src/oracle/program.ts";
import { MAX_RECORD_BYTES } from "../../../../packages/testing/src/oracle/record.ts";
import { blocks } from "../../../../packages/testing/src/oracle/source.ts";
import { CreateSession } from "../../../../src/protocol/schemas/session.ts";
import { joined, oracleStream } from "../oracle-stream.ts";

test("the program fits into the command of a session", () => {
  const most = { bytes: Number.MAX_SAFE_INTEGER, seed: 2 ** 32 - 1, linesPerSecond: 1_000_000.5 };
  const command = oracleProgram({ ...most, isWild: true, waitsForKey: true });
  expect(CreateSession.safeParse({ command }).success).toBe(true);
});

test("the program needs nothing but Node's own modules", () => {
  const [node, flag, text = ""] = oracleProgram({ bytes: 1 });
  expect([node, flag]).toEqual(["node", "-e"]);
  expect(text.match(/require\([^)]*\)/g)).toEqual(['require("node:zlib")']);
  expect(text).not.toMatch(/\bimport\b|__/);
});

test("a stream of so many lines a second is printed in blocks of that many lines, however long they are", () => {
  const lines = Array.from({ length: 2_500 }, () => new Uint8Array(100));
  expect([...blocks(lines, 1_000)].map(({ length }) => length)).toEqual([100_000, 100_000, 50_000]);
});

test("the same seed gives the same stream, another one another", () => {
  const text = (seed: number): string => new TextDecoder("latin1").decode(joined(oracleStream({ seed })));
  expect(text(7)).toBe(text(7));
  expect(text(7)).not.toBe(text(8));
});

test.each([false, true])("records are lines of many lengths, wild: %s", (isWild) => {
  const records = oracleStream({ bytes: 500_000, isWild });
  const total = joined(records).length;
  expect(total).toBeGreaterThan(500_000);
  expect(total).toBeLessThan(500_000 + MAX_RECORD_BYTES);
  expect(new Set(records.map(({ length }) => length)).size).toBeGreaterThan(200);
  expect(Math.max(...records.map(({ length }) => length))).toBeLessThanOrEqual(MAX_RECORD_BYTES);
  expect(records.filter((record) => record.indexOf(10) !== record.length - 1)).toEqual([]);
});

test("only a wild stream has bytes that are no printed text", () => {
  const bytesOf = (isWild: boolean) => new Set(joined(oracleStream({ bytes: 200_000, isWild })));
  expect([...bytesOf(false)].filter((byte) => byte < 32 || byte > 126).sort()).toEqual([10, 13]);
  expect(bytesOf(true).size).toBe(256);
});
