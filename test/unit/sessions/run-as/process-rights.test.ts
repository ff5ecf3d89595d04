import { execFile } from "node:child_process";
import { readFile } from "node:fs/promises";
import { promisify } from "node:util";
import fc from "fast-check";
import { expect, test } from "vitest";
import {
  atMost,
  formatLimits,
  parseGroups,
  parseLimits,
} from "../../../../src/sessions/run-as/process-rights.ts";

const TABLE = `Limit                     Soft Limit           Hard Limit           Units     
Max cpu time              unlimited            unlimited            seconds   
Max open files            1024                 524288               files     
Max realtime priority     0                    0                    
Max realtime timeout      unlimited            18446744073709551615 us        
Max something new         1                    2                    things    
`;

test("a table of limits is read, and what it has that nobody knows is left out", () => {
  expect(parseLimits(TABLE)).toEqual({
    cpu: { soft: "unlimited", hard: "unlimited" },
    nofile: { soft: "1024", hard: "524288" },
    rtprio: { soft: "0", hard: "0" },
    rttime: { soft: "unlimited", hard: "18446744073709551615" },
  });
  expect(formatLimits(parseLimits(TABLE))).toBe(
    "cpu=unlimited:unlimited,nofile=1024:524288,rtprio=0:0,rttime=unlimited:18446744073709551615",
  );
});

test("all that Linux tells of a process is read", async () => {
  const limits = parseLimits(await readFile("/proc/self/limits", "utf8"));
  expect(Object.keys(limits)).toHaveLength(16);
  const { stdout } = await promisify(execFile)("sh", ["-c", "ulimit -Hn"]);
  expect(stdout).toBe(`${limits.nofile?.hard}\n`);
  const groups = await promisify(execFile)("id", ["-G"]);
  const found = parseGroups(await readFile("/proc/self/status", "utf8"));
  expect(groups.stdout.trim().split(" ").map(Number)).toEqual(expect.arrayContaining([...(found ?? [])]));
});

test("the groups of a process come from the line that has them and no other", () => {
  expect(parseGroups("Name:\tcat\nUid:\t1000\t1000\t1000\t1000\nGroups:\t27 1000 \n")).toEqual([27, 1000]);
  expect(parseGroups("Uid:\t0\t0\t0\t0\nGroups:\t \n")).toEqual([]);
  for (const text of ["", "Groups: 27", "Groups:\t27 x", "Name:\tGroups:\t27\n"])
    expect(parseGroups(text), text).toBeUndefined();
});

test("no text makes reading limits fail, or gives another command to what sets them", () => {
  const line = fc
    .tuple(fc.constantFrom("Max open files", "Max cpu time", "Max"), fc.string(), fc.string())
    .map(([label, soft, hard]) => `${label}    ${soft}    ${hard}    files`);
  fc.assert(
    fc.property(
      fc.oneof(
        fc.string(),
        fc.array(line).map((lines) => lines.join("\n")),
      ),
      (text) => {
        expect(formatLimits(parseLimits(text))).toMatch(
          /^([a-z]+=(unlimited|\d+):(unlimited|\d+)(,(?!$)|$))*$/,
        );
        expect(parseGroups(text)?.every(Number.isInteger) ?? true).toBe(true);
      },
    ),
  );
});

test("a limit is lowered to what is allowed at most, and one that is lower stays", () => {
  expect(atMost(4096, { soft: "1024", hard: "unlimited" })).toEqual({ soft: "1024", hard: "4096" });
  expect(atMost(4096, { soft: "62000", hard: "62000" })).toEqual({ soft: "4096", hard: "4096" });
  expect(atMost(4096, { soft: "10", hard: "20" })).toEqual({ soft: "10", hard: "20" });
  expect(atMost(4096, undefined)).toEqual({ soft: "4096", hard: "4096" });
});
