// Attacks on the audit log, and the accidents that must not look like one.
import { execFile } from "node:child_process";
import { appendFile, copyFile, open, readFile, rename, rm, truncate, writeFile } from "node:fs/promises";
import { promisify } from "node:util";
import { expect, test, vi } from "vitest";
import { chainLines, GENESIS, hashOf } from "../../../../src/audit/file/chain.ts";
import { verifyLog } from "../../../../src/audit/file/verifier.ts";
import { LogPlace, loginOf } from "../log-place.ts";

const run = promisify(execFile);
const USERS = ["ada", "bob", "cid", "dan", "eve"];

async function written(): Promise<LogPlace> {
  const place = await LogPlace.make();
  await place.write(USERS);
  return place;
}

test("each line has the SHA-256 of the previous line", async () => {
  await using place = await written();
  const lines = await place.lines();
  expect(lines.map((line) => JSON.parse(line).seq)).toEqual([1, 2, 3, 4, 5]);
  expect(JSON.parse(lines[0] ?? "").prev).toBe("0".repeat(64));
  for (const [index, line] of lines.slice(1).entries()) {
    expect(JSON.parse(line).prev).toBe(hashOf(Buffer.from(lines[index] ?? "")));
  }
  expect(await place.verify()).toMatchObject({ first: 1, last: 5, sealed: 5, problem: undefined });
});

test.each([
  ["an edited line", 2, /changed/, (lines: string[]) => lines.with(1, lines[1]?.replace("bob", "eve") ?? "")],
  ["a removed line", 3, /sequence 3 is missing/, (lines: string[]) => lines.toSpliced(2, 1)],
  ["removed lines", 2, /sequences 2 to 4 are missing/, (lines: string[]) => lines.toSpliced(1, 3)],
  ["exchanged lines", 2, /missing before/, ([a, b, c, ...rest]: string[]) => [a, c, b, ...rest].map(String)],
  ["a repeated line", 3, /repeated/, (lines: string[]) => lines.toSpliced(1, 0, lines[1] ?? "")],
  ["a line that was put in", 2, /no line of the chain/, (lines: string[]) => lines.toSpliced(1, 0, "{}")],
  ["lines removed at the beginning", 1, /1 to 2 are missing/, (lines: string[]) => lines.slice(2)],
  ["lines removed at the end", 3, /4 to 5 are missing/, (lines: string[]) => lines.slice(0, 3)],
  [
    "the last line edited",
    5,
    /sealed hash/,
    (lines: string[]) => lines.with(4, lines[4]?.replace("eve", "ada") ?? ""),
  ],
  ["an empty log", 1, /1 to 5 are missing/, () => []],
] as const)("%s is found, with the first bad line", async (_, line, reason, attack) => {
  await using place = await written();
  await place.change(attack);
  const { problem } = await place.verify();
  expect(problem).toEqual({ file: place.path, line, reason: expect.stringMatching(reason) });
});

test("a chain that was recomputed after an edit does not have the sealed hash", async () => {
  await using place = await written();
  await place.change((lines) => {
    const bodies = lines.map((line) => `{${line.slice(line.indexOf('"time"'))}\n`);
    const forged = chainLines(bodies.with(0, bodies[0]?.replace("ada", "eve") ?? ""), GENESIS);
    return forged.map(({ text }) => text.trimEnd());
  });
  expect(await verifyLog([place.path], { sealed: undefined, isWhole: false })).toMatchObject({
    problem: undefined,
  });
  expect((await place.verify()).problem).toMatchObject({
    line: 5,
    reason: expect.stringMatching(/made anew/),
  });
});

test("a forged head of a shorter log is not sealed with the key", async () => {
  await using place = await written();
  const head = JSON.parse(await readFile(place.files.head, "utf8"));
  const [, , third = ""] = await place.lines();
  await place.change((lines) => lines.slice(0, 3));
  await writeFile(place.files.head, JSON.stringify({ ...head, seq: 3, hash: hashOf(Buffer.from(third)) }));
  await expect(place.verify()).rejects.toThrow(/not sealed with/);
});

test.each([
  ["truncated", (place: LogPlace) => place.change((lines) => lines.slice(0, 3)), /sequence 5 is missing/],
  [
    "edited at its end",
    (place: LogPlace) => place.change((lines) => lines.with(4, lines[4]?.replace("eve", "ada") ?? "")),
    /missing or changed/,
  ],
  ["left without its head", (place: LogPlace) => rm(place.files.head), /no sealed head/],
  ["given another head", (place: LogPlace) => writeFile(place.files.head, "{}"), /damaged/],
])(
  "a log that was %s while the server was stopped fails verification after the next start",
  async (_, attack, reason) => {
    await using place = await written();
    await attack(place);
    await place.write(["fay"]);
    await place.write(["gus"]);
    expect(place.said).toEqual(["audit log was changed"]);
    const breaks = (await place.lines())
      .map((line) => JSON.parse(line))
      .filter(({ action }) => action === "audit.break");
    expect(breaks).toMatchObject([{ result: "failed", details: { reason: expect.stringMatching(reason) } }]);
    expect((await place.verify()).problem).toMatchObject({ reason: expect.stringMatching(reason) });
  },
);

test("the chain continues across restarts and rotation; files that rotation removed are not missing", async () => {
  await using place = await LogPlace.make();
  for (let start = 0; start < 20; start++) await place.write(USERS, { maxBytes: 1_500 });
  const { files, first, last, problem } = await place.verify();
  expect(problem).toBeUndefined();
  expect(files).toHaveLength(5);
  expect(first).toBeGreaterThan(1);
  expect(last).toBeGreaterThan(100);
  expect(place.said).toEqual([]);
});

test("a rotation that fails half-way removes one file at most, and the log names what is kept", async ({
  skip,
}) => {
  await using place = await LogPlace.make();
  const grow = async (starts: number): Promise<void> => {
    for (let start = 0; start < starts; start++) await place.write(USERS, { maxBytes: 1_500 });
  };
  await grow(20);
  // Such a file takes lines, and cannot be renamed.
  const isFixed = await run("chattr", ["+a", place.path]).then(
    () => true,
    () => false,
  );
  skip(!isFixed, "needs the right to make files append-only");
  try {
    await grow(8);
  } finally {
    await run("chattr", ["-a", place.path]);
  }
  expect(place.said).toContain("full audit log not moved on");
  expect(await place.verify()).toMatchObject({ files: { length: 4 }, problem: undefined });
  await grow(2);
  expect(await place.verify()).toMatchObject({ files: { length: 5 }, problem: undefined });
});

test("a removed or shortened rotated file is reported", async () => {
  await using place = await LogPlace.make();
  for (let start = 0; start < 20; start++) await place.write(USERS, { maxBytes: 1_500 });
  await copyFile(`${place.path}.4`, `${place.path}.copy`);
  await place.change((lines) => lines.slice(1), `${place.path}.4`);
  expect((await place.verify()).problem).toMatchObject({ file: `${place.path}.4`, line: 1 });
  await rm(`${place.path}.4`);
  expect((await place.verify()).problem).toMatchObject({ file: `${place.path}.3`, line: 1 });
  await rename(`${place.path}.copy`, `${place.path}.4`);
  expect((await place.verify()).problem).toBeUndefined();
  await rm(`${place.path}.2`);
  expect((await place.verify()).problem).toMatchObject({ file: `${place.path}.1`, line: 1 });
});

test("an interrupted line is noted by the next one and passes verification", async () => {
  await using place = await written();
  const torn = '{"seq":6,"prev":"00';
  await appendFile(place.path, torn);
  expect(await place.verify()).toMatchObject({ torn: torn.length, problem: undefined });
  await place.write(["fay"]);
  const line = (await place.lines()).find((each) => each.includes("audit.torn")) ?? "";
  expect(JSON.parse(line)).toMatchObject({
    action: "audit.torn",
    details: { bytes: torn.length, sha256: hashOf(Buffer.from(torn)) },
  });
  expect(await place.verify()).toMatchObject({ last: 7, problem: undefined });
  await place.change((lines) => lines.with(5, `${torn}1`));
  expect((await place.verify()).problem).toMatchObject({ line: 6, reason: "is no line of the chain" });
  await place.change((lines) => lines.toSpliced(5, 1));
  expect((await place.verify()).problem).toMatchObject({ line: 6, reason: expect.stringMatching(/missing/) });
});

test("lines that the disk took and did not confirm are no attack", async () => {
  await using place = await written();
  {
    await using file = await open(place.path);
    const failure = new Error("EIO: i/o error, fdatasync");
    using _disk = vi.spyOn(Object.getPrototypeOf(file), "datasync").mockRejectedValueOnce(failure);
    await using audit = await place.open();
    audit.write(loginOf("fay"));
    await audit.flushed();
    expect(place.said).toHaveLength(1);
    audit.write(loginOf("gus"));
  }
  expect((await place.lines()).map((line) => JSON.parse(line).user)).toEqual([...USERS, "fay", "gus"]);
  expect(await place.verify()).toMatchObject({ last: 7, sealed: 7, problem: undefined });
});

test("whole lines after the sealed one are accepted after a crash, and the chain continues", async () => {
  await using place = await written();
  const head = await readFile(place.files.head);
  await place.write(["fay", "gus"]);
  await writeFile(place.files.head, head);
  expect(await place.verify()).toMatchObject({ last: 7, sealed: 5, problem: undefined });
  await place.write(["hal"]);
  expect(place.said).toEqual([]);
  expect(await place.verify()).toMatchObject({ last: 8, sealed: 8, problem: undefined });
});

test("lines without a chain are accepted only before the first line of the chain", async () => {
  await using place = await LogPlace.make();
  await writeFile(place.path, '{"time":"t","action":"login"}\n{"time":"t","action":"logout"}\n');
  await place.write(["ada"]);
  expect(await place.verify()).toMatchObject({ unchained: 2, first: 1, problem: undefined });
});

test("moved files are verified whatever their names", async () => {
  await using place = await LogPlace.make();
  for (const name of ["c", "a", "b"]) {
    await place.write(USERS);
    await rename(place.path, `${place.path}.${name}`);
  }
  const files = ["a", "b", "c"].map((name) => `${place.path}.${name}`);
  expect(await verifyLog(files, { sealed: undefined, isWhole: false })).toMatchObject({
    ...{ first: 1, last: 15, problem: undefined },
  });
  await truncate(`${place.path}.a`, 10);
  const { problem } = await verifyLog(files, { sealed: undefined, isWhole: false });
  expect(problem).toMatchObject({ line: 1 });
});
