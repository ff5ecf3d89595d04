// The kit as users install it, from the packed tarball: in an empty project, and in a copy of examples/ci.
import { execFile } from "node:child_process";
import { cp, mkdir, mkdtemp, readFile, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { promisify } from "node:util";
import { rolldown } from "rolldown";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { builtImage } from "../containers/built-image.ts";
import { BUILD_TIMEOUT_MS } from "../containers/docker.ts";
import { MAIN, TestServer } from "../harness/test-server.ts";

const ROOT = fileURLToPath(new URL("../../../", import.meta.url));
const EXAMPLE = join(ROOT, "examples/ci");
const TARBALL = "ttyhq-testing-0.2.0.tgz";
const run = promisify(execFile);

const PROGRAM = `
import { OracleChecker, oracleProgram, ServerClient } from "@ttyhq/testing";

using client = new ServerClient({ url: process.argv[2] });
using shell = await client.run({ command: ["sh"], cols: 80, rows: 24 });
await shell.type("echo $((6 * 7)) there\\r");
await shell.shows(/42 there$/m);
const checker = new OracleChecker();
using viewer = await client.run({ command: oracleProgram({ bytes: 50_000 }) }, { checker });
await viewer.ended();
console.log(checker.verify().records > 100);
`;

const FAILING_TEST = `
import { reportFailures, startCluster } from "@ttyhq/testing";
import { afterAll, afterEach, beforeAll, expect, test } from "vitest";

let cluster;
beforeAll(async () => {
  cluster = await startCluster({ remotes: 1 });
});
afterEach(reportFailures(() => cluster));
afterAll(() => cluster[Symbol.asyncDispose]());

test("a screen reports its differences", async () => {
  using client = await cluster.client();
  const { remoteId } = await cluster.remote("remote-1").health();
  using shell = await client.run({ remoteId, command: ["sh", "-c", "echo $((6 * 7)) there; cat"] });
  await shell.shows("42 there");
  expect(shell.screen).toContain("43 there");
});
`;

let folder: string;
beforeAll(async () => {
  await builtImage();
  folder = await mkdtemp(join(tmpdir(), "ttyhq-kit-"));
  await pack();
}, BUILD_TIMEOUT_MS);
afterAll(() => rm(folder, { recursive: true, force: true }));

/** Outside the checkout: the test of releases may be packing there. */
async function pack(): Promise<void> {
  const [source, copy] = [join(ROOT, "packages/testing"), join(folder, "kit")];
  await run(join(ROOT, "node_modules/.bin/tsc"), ["-p", source, "--outDir", join(copy, "dist")]);
  for (const name of ["package.json", "README.md"]) await cp(join(source, name), join(copy, name));
  await run("npm", ["pack", "--ignore-scripts", "--pack-destination", folder], { cwd: copy });
}

/** An empty folder with the tarball. */
async function newProject(): Promise<string> {
  const project = await mkdtemp(join(folder, "project-"));
  await cp(join(folder, TARBALL), join(project, TARBALL));
  return project;
}

/** A copy of the example with the packed kit; other packages come from the checkout. */
async function exampleCopy(): Promise<string> {
  const project = await newProject();
  const isSource = (path: string): boolean => !/node_modules|ttyhq-failures|junit\.xml$/.test(path);
  await cp(EXAMPLE, project, { recursive: true, filter: isSource });
  const kit = join(project, "node_modules/@ttyhq/testing");
  await mkdir(kit, { recursive: true });
  await run("tar", ["-xzf", join(project, TARBALL), "--strip-components=1", "-C", kit]);
  const { dependencies } = JSON.parse(await readFile(join(kit, "package.json"), "utf8"));
  for (const name of [...Object.keys(dependencies), "testcontainers", "vitest"]) {
    const place = join(project, "node_modules", name);
    await mkdir(dirname(place), { recursive: true });
    await symlink(join(ROOT, "node_modules", name), place);
  }
  await mkdir(join(project, "node_modules/.bin"));
  await symlink("../vitest/vitest.mjs", join(project, "node_modules/.bin/vitest"));
  return project;
}

type Outcome = { readonly output: string; readonly junit: string };

/** `npm test`, like its CI. Rejects if a test fails. */
async function npmTest(project: string, variables: Readonly<Record<string, string>>): Promise<Outcome> {
  const env = { ...process.env, ...variables, NO_COLOR: "1", VITEST: undefined };
  const { stdout, stderr } = await run("npm", ["test"], { cwd: project, env });
  return { output: stdout + stderr, junit: await readFile(join(project, "junit.xml"), "utf8") };
}

/** Bundled, because it imports its schema in a way that only bundlers support. */
async function workflowParser(): Promise<typeof import("@actions/workflow-parser")> {
  const input = fileURLToPath(import.meta.resolve("@actions/workflow-parser"));
  const bundle = await rolldown({ input, platform: "node", logLevel: "silent" });
  const { output } = await bundle.write({ dir: folder });
  return await import(pathToFileURL(join(folder, output[0].fileName)).href);
}

test("the packed kit tests a server with its own dependencies and nothing else of the checkout", async () => {
  await using server = await TestServer.start({ asProcess: true });
  const project = await newProject();
  await writeFile(join(project, "package.json"), '{ "private": true, "type": "module" }');
  await run("npm", ["install", "--prefer-offline", "--no-audit", "--no-fund", `./${TARBALL}`], {
    cwd: project,
  });
  await writeFile(join(project, "program.mjs"), PROGRAM);
  const { stdout } = await run(process.execPath, ["program.mjs", server.url], { cwd: project });
  expect(stdout.trim()).toBe("true");
});

describe("the example for CI", () => {
  test.concurrent.each([
    { kind: "containers", variables: {} },
    { kind: "processes", variables: { TTYHQ_COMMAND: MAIN } },
  ])("passes in a fresh copy on $kind", async ({ kind, variables }) => {
    const project = await exampleCopy();
    const { junit } = await npmTest(project, { ...variables, TTYHQ_TEST_CLUSTER: kind });
    expect(junit).toMatch(/<testsuites [^>]*tests="5" failures="0" errors="0"/);
  });

  test.concurrent("prints the screen, the frames, the logs and the seed of a failed test, and attaches them", async () => {
    const project = await exampleCopy();
    await rm(join(project, "test"), { recursive: true });
    await mkdir(join(project, "test"));
    await writeFile(join(project, "test/failing.test.ts"), FAILING_TEST);
    const outcome = npmTest(project, { TTYHQ_TEST_CLUSTER: "containers", TTYHQ_TEST_SEED: "4711" });
    const { stdout, stderr } = await outcome.then(
      () => expect.unreachable("the test passed"),
      (error: { readonly stdout: string; readonly stderr: string }) => error,
    );
    const junit = await readFile(join(project, "junit.xml"), "utf8");
    const shown = [/TTYHQ_TEST_SEED=4711/, /│ 42 there/, /OUTPUT 0\+\d+ \S*42 there/, /last lines of hq:/];
    for (const pattern of [...shown, /last lines of remote-1:[\s\S]* server listening/]) {
      expect(stdout + stderr).toMatch(pattern);
      expect(junit.replaceAll("&quot;", '"')).toMatch(pattern);
    }
    const attachments = [...junit.matchAll(/\[\[ATTACHMENT\|(.+)\]\]/g)].map(([, path = ""]) => path);
    const directory = join(project, "ttyhq-failures/a-screen-reports-its-differences");
    expect(attachments).toEqual(
      ["report.txt", "hq.log", "remote-1.log"].map((name) => join(directory, name)),
    );
    expect(await readFile(join(directory, "remote-1.log"), "utf8")).toContain("server listening");
  });

  test.concurrent("has a workflow that GitHub's parser accepts", async () => {
    const { parseWorkflow } = await workflowParser();
    const name = ".github/workflows/test.yml";
    const problems = (content: string): readonly string[] => {
      const log = { error: () => {}, info: () => {}, verbose: () => {} };
      const { context } = parseWorkflow({ name, content }, log);
      return context.errors.getErrors().map(({ message }) => message);
    };
    const content = await readFile(join(EXAMPLE, name), "utf8");
    expect(problems(content)).toEqual([]);
    expect(problems(content.replace("runs-on", "run-on"))).not.toEqual([]);
  });

  test.concurrent("has a pipeline that is valid by GitLab's schema", async () => {
    const project = await exampleCopy();
    const check = (): Promise<string> =>
      run(join(ROOT, "node_modules/.bin/gitlab-ci-local"), ["--list-json"], {
        cwd: project,
        env: process.env,
      }).then(({ stdout, stderr }) => stdout + stderr);
    expect(await check()).toContain("json schema validated");
    const file = join(project, ".gitlab-ci.yml");
    await writeFile(file, (await readFile(file, "utf8")).replace("before_script", "before"));
    await expect(check()).rejects.toMatchObject({ code: 1 });
  });
});
