import { appendFileSync, mkdtempDisposableSync, truncateSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { logTail } from "../../../../src/cli/cluster/cluster-server.ts";

test("the tail of a log is its last whole lines", async () => {
  using directory = mkdtempDisposableSync(join(tmpdir(), "ttyhq-log-"));
  const path = join(directory.path, "server.log");
  const lines = Array.from({ length: 1000 }, (_, index) => `line ${index} ${"é".repeat(40)}`);
  writeFileSync(path, `${lines.join("\n")}\n`);
  expect(await logTail(path, 3)).toEqual(lines.slice(-3));
  const most = await logTail(path, 1000);
  expect(most).toEqual(lines.slice(-most.length));
  expect(most.length).toBeGreaterThan(30);
});

test("a short log is shown whole, and the tail of a missing log is empty", async () => {
  using directory = mkdtempDisposableSync(join(tmpdir(), "ttyhq-log-"));
  const path = join(directory.path, "server.log");
  expect(await logTail(path, 3)).toEqual([]);
  writeFileSync(path, "");
  expect(await logTail(path, 3)).toEqual([]);
  writeFileSync(path, "one\n\ntwo");
  expect(await logTail(path, 3)).toEqual(["one", "two"]);
});

test("the tail of a log that does not fit into memory is read", async () => {
  using directory = mkdtempDisposableSync(join(tmpdir(), "ttyhq-log-"));
  const path = join(directory.path, "server.log");
  writeFileSync(path, "");
  truncateSync(path, 2 ** 30);
  appendFileSync(path, "\none\ntwo\n");
  expect(await logTail(path, 2)).toEqual(["one", "two"]);
});
