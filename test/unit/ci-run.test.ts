// .ci/run with commands in the places of npm and of the cluster's lab: what it prints last and how it exits.
import { cp } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { ScriptFolder } from "./script-folder.ts";

const CI = fileURLToPath(new URL("../../.ci", import.meta.url));
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
  await using folder = await ScriptFolder.make({ npm: `[ "$1" = ci ] || { ${npm}; }` });
  for (const tool of TOOLS) await folder.command(tool, SUCCEEDS);
  await cp(CI, folder.at("main/.ci"), { recursive: true });
  for (const script of ["build.sh", "up.sh", "down.sh", "node2.sh"]) {
    await folder.script(`shared/k8s-lab/${script}`, SUCCEEDS);
  }
  await folder.script("main/scripts/setup-debian.sh", SUCCEEDS);
  await folder.script("main/docker/build.sh", SUCCEEDS);
  await folder.script("main/node_modules/.bin/node", lab);
  const ended = await folder.run("main/.ci/run");
  expect(ended.stdout.trimEnd().split("\n").slice(-end.length)).toEqual(end);
  expect(ended.code).toBe(code);
});
