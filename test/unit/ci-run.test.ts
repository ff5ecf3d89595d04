// .ci/run with commands in the places of npm and of the cluster's lab: what it prints last and how it exits.
import { execFile } from "node:child_process";
import { cp, mkdir, mkdtempDisposable, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";

const ROOT = fileURLToPath(new URL("../..", import.meta.url));
const SUCCEEDS = "exit 0";
/** What the lab needs; packages are installed for commands that are missing. */
const TOOLS = ["containerd", "runc", "iptables", "nft", "openssl", "ip", "gcc", "dpkg-source", "apt-get"];

const RUNS = [
  {
    name: "passes if all tests did",
    npm: "echo '3 passed, 0 failed'",
    lab: "echo '2 passed, 0 failed'",
    ...{ code: 0, end: ["5 passed, 0 failed"] },
  },
  {
    name: "lists what failed before the sum",
    npm: "echo 'failed: a.test.ts: one: wrong'; echo '3 passed, 1 failed'; exit 1",
    lab: "echo '2 passed, 0 failed'",
    ...{ code: 1, end: ["failed: a.test.ts: one: wrong", "5 passed, 1 failed"] },
  },
  {
    name: "fails if only a test on the cluster did",
    npm: "echo '3 passed, 0 failed'",
    lab: "echo 'failed: b.test.ts: two: late'; echo '1 passed, 1 failed'; exit 1",
    ...{ code: 1, end: ["failed: b.test.ts: two: late", "4 passed, 1 failed"] },
  },
  {
    name: "counts a run that ended without a sum as a failure",
    npm: "echo killed; exit 137",
    lab: "echo '2 passed, 0 failed'",
    ...{ code: 1, end: ["2 passed, 1 failed"] },
  },
];

test.each(RUNS)("$name", async ({ npm, lab, code, end }) => {
  await using folder = await mkdtempDisposable(join(tmpdir(), "ttyhq-ci-"));
  const write = async (path: string, text: string): Promise<void> => {
    const file = join(folder.path, path);
    await mkdir(dirname(file), { recursive: true });
    await writeFile(file, `#!/bin/sh\n${text}\n`, { mode: 0o755 });
  };
  await cp(join(ROOT, ".ci"), join(folder.path, "main/.ci"), { recursive: true });
  await write("bin/npm", `[ "$1" = ci ] || { ${npm}; }`);
  for (const tool of TOOLS) await write(`bin/${tool}`, SUCCEEDS);
  for (const script of ["build.sh", "up.sh", "down.sh", "node2.sh"]) {
    await write(`shared/k8s-lab/${script}`, SUCCEEDS);
  }
  await write("main/scripts/setup-debian.sh", SUCCEEDS);
  await write("main/docker/build.sh", SUCCEEDS);
  await write("main/node_modules/.bin/node", lab);
  const ended = await run(join(folder.path, "main/.ci/run"), {
    PATH: `${join(folder.path, "bin")}:${process.env.PATH}`,
    HOME: folder.path,
    TMPDIR: folder.path,
  });
  expect(ended.lines.slice(-end.length)).toEqual(end);
  expect(ended.code).toBe(code);
});

function run(file: string, env: NodeJS.ProcessEnv): Promise<{ code: unknown; lines: readonly string[] }> {
  return new Promise((resolve) => {
    execFile("bash", [file], { env }, (error, output) => {
      resolve({ code: error?.code ?? 0, lines: output.trimEnd().split("\n") });
    });
  });
}
