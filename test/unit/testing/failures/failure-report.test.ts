import { mkdtempDisposableSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test, vi } from "vitest";
import { reportFailures } from "../../../../packages/testing/src/failures/failure-report.ts";
import { TerminalLog } from "../../../../packages/testing/src/failures/terminal-log.ts";

/** What is printed from now on, when reports go to that directory. */
function printed(directory: string): () => string {
  vi.stubEnv("TTYHQ_REPORT_DIR", directory);
  const print = vi.spyOn(console, "error").mockImplementation(() => undefined);
  onTestFinished(() => {
    vi.unstubAllEnvs();
    print.mockRestore();
  });
  return () => print.mock.calls.flat().join("\n");
}

/** Calls the hook after a failed test. */
async function fail(fullTestName: string): Promise<void> {
  const terminals = new TerminalLog();
  const hq = { name: "hq", log: "server listening\n", scene: "last lines of hq:\n  server listening" };
  const name = fullTestName.replace(/^.* > /, "");
  const report = reportFailures(() => ({ hq, remotes: [], seed: 7, terminals }));
  await report({ task: { name, fullTestName, result: { state: "fail" } } });
}

test("failed tests of the same name in two suites have a report each", async () => {
  using folder = mkdtempDisposableSync(join(tmpdir(), "ttyhq-report-"));
  const output = printed(folder.path);
  await fail("on a remote > it starts");
  await fail("on an HQ > it starts");
  const paths = [...output().matchAll(/\[\[ATTACHMENT\|(.+report\.txt)\]\]/g)].map(([, path = ""]) => path);
  const reports = await Promise.all(paths.map((path) => readFile(path, "utf8")));
  expect(reports.map((text) => text.split("\n")[0])).toEqual([
    "failed: on a remote > it starts",
    "failed: on an HQ > it starts",
  ]);
});

test("a report that cannot be written is printed all the same", async () => {
  const output = printed(join(import.meta.filename, "no-folder"));
  await expect(fail("it starts")).rejects.toThrow("ENOTDIR");
  expect(output()).toMatch(/^failed: it starts\n[\s\S]*server listening$/);
});
