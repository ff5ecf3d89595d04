import * as fc from "fast-check";
import { expect, test } from "vitest";
import type { AuditEntry } from "../../../../src/audit/entry.ts";
import { auditLine } from "../../../../src/audit/file/line.ts";

const TIME = new Date("2026-01-31T12:00:00.123Z");
const LOGIN = { action: "login", result: "ok" } as const;

const parsed = (entry: AuditEntry) => JSON.parse(auditLine(entry, TIME));

test("a line is JSON and a newline; unknown members are left out", () => {
  const entry: AuditEntry = {
    ...LOGIN,
    user: "ada",
    method: "password",
    address: "10.0.0.1",
    session: undefined,
  };
  expect(auditLine(entry, TIME)).toBe(
    '{"time":"2026-01-31T12:00:00.123Z","action":"login","result":"ok","user":"ada","method":"password","address":"10.0.0.1"}\n',
  );
});

test("empty details are left out", () => {
  expect(parsed({ ...LOGIN, details: { code: undefined } })).not.toHaveProperty("details");
});

test("long texts are cut and marked", () => {
  const { user, details } = parsed({
    ...LOGIN,
    user: "u".repeat(1_000),
    details: {
      name: "n".repeat(5_000),
      command: Array.from({ length: 1_000 }, (_, index) => `word ${index}`),
    },
  });
  expect(user).toBe(`${"u".repeat(256)}…`);
  expect(details.name).toBe(`${"n".repeat(1_024)}…`);
  expect(details.command).toHaveLength(65);
  expect(details.command.at(-1)).toBe("…");
});

test("recognisable secrets are not written", () => {
  const jwt = "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiJhZGEifQ.c2lnbmF0dXJl";
  const line = auditLine(
    {
      ...{ action: "session.create", result: "ok" },
      details: {
        command: [
          "curl",
          "-H",
          `authorization: Bearer ${jwt}`,
          "https://ada:hunter2@example.com/?token=abcdef",
        ],
      },
    },
    TIME,
  );
  for (const secret of [jwt, "hunter2", "abcdef"]) expect(line).not.toContain(secret);
  expect(line).toContain("example.com");
});

test("every entry is one bounded line of JSON without terminal control characters", async () => {
  const text = fc.oneof(
    fc.string({ unit: "binary", maxLength: 3_000 }),
    fc.constantFrom(
      "\r\n",
      "\u001b[2J",
      "\u009b2J",
      "\u2028",
      "\u202e",
      "\ud800",
      "\u{e0041}",
      '"},{"',
      "\0",
    ),
    fc.constant("\u202e".repeat(4_000)),
  );
  const entry = fc.record({
    user: text,
    session: text,
    remote: text,
    details: fc.dictionary(text, fc.oneof(text, fc.array(text), fc.integer(), fc.boolean()), { maxKeys: 40 }),
  });
  await fc.assert(
    fc.property(entry, (members) => {
      const line = auditLine({ ...LOGIN, ...members }, TIME);
      expect(line.indexOf("\n")).toBe(line.length - 1);
      expect(line.slice(0, -1)).not.toMatch(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/u);
      expect(JSON.parse(line)).toMatchObject(LOGIN);
      expect(Buffer.byteLength(line)).toBeLessThan(MAX_LINE_BYTES);
    }),
    { numRuns: 300 },
  );
});

const MAX_LINE_BYTES = 64 * 1024;
