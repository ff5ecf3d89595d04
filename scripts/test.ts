// Runs the tests: `node scripts/test.ts [unit|integration|containers|kubernetes] [arguments of vitest…]`. Its last line is the sum of them.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempDisposable, readFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { z } from "zod";

const ROOT = fileURLToPath(new URL("..", import.meta.url));
const PROJECTS = ["unit", "integration", "containers", "kubernetes"];

const Report = z.object({
  numPassedTests: z.int(),
  numFailedTests: z.int(),
  numPendingTests: z.int(),
  numTodoTests: z.int(),
  testResults: z.array(
    z.object({
      name: z.string(),
      status: z.string(),
      assertionResults: z.array(z.object({ status: z.string() })),
    }),
  ),
});
type Sum = { readonly passed: number; readonly failed: number; readonly skipped: number };

if (!process.env.KUBECONFIG && [undefined, "kubernetes"].includes(process.argv[2])) {
  console.log("KUBECONFIG names no cluster: the suites in test/integration/kubernetes are left out");
  if (process.argv[2] === "kubernetes") process.exit(1);
}
await using folder = await mkdtempDisposable(join(tmpdir(), "ttyhq-test-"));
const reportFile = join(folder.path, "report.json");
const code = await runVitest(reportFile);
const sum = judge(await readReport(reportFile), code);
const skipped = sum.skipped === 0 ? "" : `, ${sum.skipped} skipped`;
console.log(`${sum.passed} passed, ${sum.failed} failed${skipped}`);
process.exitCode = sum.failed > 0 || sum.passed === 0 ? 1 : 0;

/** The exit code of vitest; a signal that ended it counts as the shell would count it. */
async function runVitest(outputFile: string): Promise<number> {
  const [first, ...others] = process.argv.slice(2);
  const isProject = first !== undefined && PROJECTS.includes(first);
  const filter = isProject ? ["--project", first, ...others] : process.argv.slice(2);
  const reporters = ["--reporter=default", "--reporter=json", `--outputFile.json=${outputFile}`];
  const vitest = join(ROOT, "node_modules/vitest/vitest.mjs");
  // Suites start hundreds of servers and commands: each need not compile the same files anew.
  const env = { ...process.env, NODE_COMPILE_CACHE: join(folder.path, "compiled") };
  const child = spawn(process.execPath, [vitest, "run", ...reporters, ...filter], {
    ...{ cwd: ROOT, env, stdio: "inherit" },
  });
  // Vitest stops its workers and then ends; the sum still has to be told.
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.on(signal, () => child.kill(signal));
  const [exitCode, signal] = await once(child, "exit");
  return signal === null ? Number(exitCode) : 128;
}

async function readReport(file: string): Promise<z.infer<typeof Report> | undefined> {
  try {
    return Report.parse(JSON.parse(await readFile(file, "utf8")));
  } catch {
    return undefined;
  }
}

function judge(report: z.infer<typeof Report> | undefined, code: number): Sum {
  if (report === undefined) return { ...told("vitest ended before it could report"), passed: 0, skipped: 0 };
  // A file that did not load, or whose setup failed, has no failed test of its own.
  const broken = report.testResults.filter(
    ({ status, assertionResults }) =>
      status === "failed" && !assertionResults.some((result) => result.status === "failed"),
  );
  for (const { name } of broken) console.log(`${name} failed as a whole and counts as one test`);
  const failed = report.numFailedTests + broken.length;
  const sum = {
    passed: report.numPassedTests,
    failed,
    skipped: report.numPendingTests + report.numTodoTests,
  };
  if (failed > 0) return sum;
  if (sum.passed === 0) return { ...sum, ...told("no test ran") };
  return code === 0 ? sum : { ...sum, ...told(`vitest ended with code ${code} although no test failed`) };
}

/** A failure that is no test's. */
function told(reason: string): { readonly failed: 1 } {
  console.log(`${reason}: this counts as one failure`);
  return { failed: 1 };
}
