import { mkdir, writeFile } from "node:fs/promises";
import { join, resolve } from "node:path";
import { reportDirectory } from "../environment.ts";
import type { Machine, TestCluster } from "../machine.ts";

const MAX_NAME_LENGTH = 200;

/** The used part of a vitest hook's context. */
type TestContext = {
  readonly task: {
    readonly name: string;
    /** With the names of its suites; undefined in older versions of vitest. */
    readonly fullTestName?: string;
    readonly result?: { readonly state: string } | undefined;
  };
};

type ReportedMachine = Pick<Machine, "name" | "log" | "scene">;
type ReportedCluster = Pick<TestCluster, "seed" | "terminals"> & {
  readonly hq: ReportedMachine;
  readonly remotes: readonly ReportedMachine[];
};

/**
 * A hook for `afterEach`. After a failed test it prints the last screen and the last frames of each terminal, the ends
 * of all logs, and the seed. It writes these and the whole logs to files, and prints their paths as attachments of
 * JUnit.
 */
export function reportFailures(
  cluster: () => ReportedCluster | undefined,
): (context: TestContext) => Promise<void> {
  return async ({ task }) => {
    const found = cluster();
    if (found === undefined) return;
    if (task.result?.state === "fail") await report(found, task.fullTestName ?? task.name);
    found.terminals.forgetClosed();
  };
}

async function report({ hq, remotes, seed, terminals }: ReportedCluster, test: string): Promise<void> {
  const machines = [hq, ...remotes];
  const text = [
    `failed: ${test}`,
    `TTYHQ_TEST_SEED=${seed} repeats its choices`,
    ...terminals.texts,
    ...machines.map(({ scene }) => scene).filter((scene) => scene !== ""),
  ].join("\n");
  console.error(text);
  const directory = resolve(reportDirectory(), fileName(test));
  await mkdir(directory, { recursive: true });
  const files = [
    { name: "report.txt", content: `${text}\n` },
    ...machines.map(({ name, log }) => ({ name: `${name}.log`, content: log })),
  ];
  const attachments = files.map(async ({ name, content }) => {
    const path = join(directory, name);
    await writeFile(path, content);
    return `[[ATTACHMENT|${path}]]`;
  });
  console.error((await Promise.all(attachments)).join("\n"));
}

function fileName(test: string): string {
  return test.replaceAll(/[^A-Za-z0-9]+/g, "-").slice(0, MAX_NAME_LENGTH);
}
