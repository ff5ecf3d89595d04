import { execFile } from "node:child_process";
import { mkdir, mkdtemp, readFile, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { expect, test } from "vitest";
import { TestServer } from "../harness/test-server.ts";

const ROOT = fileURLToPath(new URL("../../../", import.meta.url));
const run = promisify(execFile);

const PROGRAM = `
import { OracleChecker, oracleProgram, ServerClient } from "@ttyhq/testing";

using client = new ServerClient({ url: process.argv[2] });
using shell = await client.run({ command: ["sh"], cols: 80, rows: 24 });
await shell.type("echo $((6 * 7)) there\\r");
await shell.shows(/^42 there$/m);
const checker = new OracleChecker();
using viewer = await client.run({ command: oracleProgram({ bytes: 50_000 }) }, { checker });
await viewer.ended();
console.log(checker.verify().records > 100);
`;

test("the packed kit tests a server with its own dependencies and nothing else of the checkout", {
  timeout: 300_000,
}, async () => {
  await using server = await TestServer.start();
  await using stack = new AsyncDisposableStack();
  const project = await mkdtemp(join(tmpdir(), "ttyhq-kit-"));
  stack.defer(() => rm(project, { recursive: true, force: true }));
  const kit = join(project, "node_modules/@ttyhq/testing");
  await mkdir(kit, { recursive: true });
  await run("npm", ["pack", "-w", "packages/testing", "--pack-destination", project], { cwd: ROOT });
  await run("tar", ["-xzf", join(project, "ttyhq-testing-0.2.0.tgz"), "--strip-components=1", "-C", kit]);
  const { dependencies } = JSON.parse(await readFile(join(kit, "package.json"), "utf8"));
  for (const name of Object.keys(dependencies)) {
    const place = join(project, "node_modules", name);
    await mkdir(dirname(place), { recursive: true });
    await symlink(join(ROOT, "node_modules", name), place);
  }
  await writeFile(join(project, "program.mjs"), PROGRAM);
  const { stdout } = await run(process.execPath, ["program.mjs", server.url], { cwd: project });
  expect(stdout.trim()).toBe("true");
});
