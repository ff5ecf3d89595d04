// Runs the tests: `node scripts/test.ts [--times=N] [unit|git|integration|containers|faults|kubernetes] [arguments of
// vitest…]`. The last line is the sum. `--times` repeats them beside busy loops, one for each core.
import { spawn } from "node:child_process";
import { randomInt } from "node:crypto";
import { once } from "node:events";
import { mkdtempDisposable, readFile, rm } from "node:fs/promises";
import { availableParallelism, tmpdir } from "node:os";
import { join, relative } from "node:path";
import { fileURLToPath } from "node:url";
import { z } from "zod";

const ROOT = fileURLToPath(new URL("..", import.meta.url));
const PROJECTS = ["unit", "git", "integration", "containers", "faults", "kubernetes"];

const Report = z.object({
  numPassedTests: z.int(),
  numFailedTests: z.int(),
  numPendingTests: z.int(),
  numTodoTests: z.int(),
  testResults: z.array(
    z.object({
      name: z.string(),
      status: z.string(),
      assertionResults: z.array(
        z.object({ status: z.string(), fullName: z.string(), failureMessages: z.array(z.string()) }),
      ),
    }),
  ),
});
type Sum = { readonly passed: number; readonly failed: number; readonly skipped: number };

const TIMES = /^--times=([1-9]\d*)$/;
const [times] = process.argv.flatMap((arg) => TIMES.exec(arg)?.[1] ?? []);
const args = process.argv.slice(2).filter((arg) => !TIMES.test(arg));
/** Without changed files there is nothing to run. */
const mayBeNone = args.some((arg) => arg.startsWith("--changed"));

if (!process.env.KUBECONFIG && [undefined, "kubernetes"].includes(args[0])) {
  console.log("KUBECONFIG names no cluster: the suites in test/integration/kubernetes are left out");
  if (args[0] === "kubernetes") process.exit(1);
}
await using folder = await mkdtempDisposable(join(tmpdir(), "ttyhq-test-"));
const image = needsImage() ? buildImage() : undefined;
const sum = times === undefined ? await run() : await runLoaded(Number(times));
await image;
const skipped = sum.skipped === 0 ? "" : `, ${sum.skipped} skipped`;
console.log(`${sum.passed} passed, ${sum.failed} failed${skipped}`);
process.exitCode = sum.failed > 0 || (sum.passed === 0 && !mayBeNone) ? 1 : 0;

/** Whether all tests run, or all of the projects with the container suites. */
function needsImage(): boolean {
  return process.env.TTYHQ_IMAGE === undefined && (args.length === 0 || args.at(-1) === "faults");
}

/** Builds the image beside the unit tests. The suites that need the image repeat and report a failed build. */
async function buildImage(): Promise<void> {
  const child = spawn("sh", [join(ROOT, "docker/build.sh"), "--quiet"], { stdio: "ignore" });
  await once(child, "exit");
}

async function runLoaded(count: number): Promise<Sum> {
  using load = new DisposableStack();
  for (let core = 0; core < availableParallelism(); core++) {
    load.adopt(spawn(process.execPath, ["--eval", "for (;;);"]), (child) => void child.kill("SIGKILL"));
  }
  let total: Sum = { passed: 0, failed: 0, skipped: 0 };
  for (let round = 1; round <= count && total.failed === 0; round++) {
    const { passed, failed, skipped } = await run();
    console.log(`run ${round} of ${count}: ${passed} passed, ${failed} failed`);
    total = {
      ...{ passed: total.passed + passed, failed: total.failed + failed },
      skipped: total.skipped + skipped,
    };
  }
  return total;
}

async function run(): Promise<Sum> {
  const reportFile = join(folder.path, "report.json");
  await rm(reportFile, { force: true });
  const seed = process.env.TTYHQ_TEST_SEED ?? String(randomInt(2 ** 31));
  const code = await runVitest(reportFile, seed);
  const sum = judge(await readReport(reportFile), code);
  console.log(`random choices: TTYHQ_TEST_SEED=${seed}`);
  return sum;
}

/** The exit code of vitest; after a signal, the code that a shell would use. */
async function runVitest(outputFile: string, seed: string): Promise<number> {
  const [first, ...others] = args;
  const isProject = first !== undefined && PROJECTS.includes(first);
  const filter = isProject ? ["--project", first, ...others] : args;
  const reporters = ["--reporter=default", "--reporter=json", `--outputFile.json=${outputFile}`];
  const vitest = join(ROOT, "node_modules/vitest/vitest.mjs");
  // Suites start hundreds of servers and commands: a shared cache spares each from compiling the same files.
  const cache = join(folder.path, "compiled");
  const env = { ...process.env, NODE_COMPILE_CACHE: cache, TTYHQ_TEST_SEED: seed };
  const child = spawn(process.execPath, [vitest, "run", ...reporters, ...filter], {
    ...{ cwd: ROOT, env, stdio: "inherit" },
  });
  // Vitest stops its workers and then exits; the sum must still be printed.
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
  for (const { name } of broken) console.log(`failed: ${relative(ROOT, name)}, which counts as one test`);
  for (const { name, assertionResults } of report.testResults) {
    const failures = assertionResults.filter(({ status }) => status === "failed");
    for (const { fullName, failureMessages } of failures) {
      const [reason = ""] = failureMessages.map((message) => message.split("\n", 1)[0]);
      console.log(`failed: ${relative(ROOT, name)}: ${fullName}: ${reason}`);
    }
  }
  const failed = report.numFailedTests + broken.length;
  const sum = {
    passed: report.numPassedTests,
    failed,
    skipped: report.numPendingTests + report.numTodoTests,
  };
  if (failed > 0) return sum;
  if (sum.passed === 0 && !mayBeNone) return { ...sum, ...told("no test ran") };
  return code === 0 ? sum : { ...sum, ...told(`vitest ended with code ${code} although no test failed`) };
}

/** A failure outside any test. */
function told(reason: string): { readonly failed: 1 } {
  console.log(`failed: ${reason}; this counts as one failure`);
  return { failed: 1 };
}
