// Checks the alerts and the dashboard's queries with promtool, of Debian's package prometheus.
import { execFile } from "node:child_process";
import { mkdtempDisposable, readFile, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { expect, test } from "vitest";
import { z } from "zod";

const run = promisify(execFile);
const FOLDER = fileURLToPath(new URL("../../../k8s/monitoring", import.meta.url));

const Dashboard = z.object({
  panels: z.array(z.object({ targets: z.array(z.object({ expr: z.string() })).default([]) })),
});

test("the file of alerts is one", async () => {
  const { stdout } = await run("promtool", ["check", "rules", "alerts.yaml"], { cwd: FOLDER });
  expect(stdout).toMatch(/SUCCESS: \d+ rules found/);
});

test("each alert fires when it should, and does not when it should not", async () => {
  const { stdout } = await run("promtool", ["test", "rules", "alerts.test.yaml"], { cwd: FOLDER });
  expect(stdout).toContain("SUCCESS");
});

test("each query of the dashboard is one", async () => {
  const { panels } = Dashboard.parse(JSON.parse(await readFile(join(FOLDER, "dashboard.json"), "utf8")));
  const rules = panels
    .flatMap(({ targets }) => targets)
    .map(({ expr }, index) => ({
      record: `query:${index}`,
      expr: expr.replaceAll("$__rate_interval", "5m").replaceAll(/\$(?:job|instance)/g, ".*"),
    }));
  await using folder = await mkdtempDisposable(join(tmpdir(), "ttyhq-rules-"));
  const path = join(folder.path, "queries.yaml");
  await writeFile(path, JSON.stringify({ groups: [{ name: "dashboard", rules }] }));
  const { stdout } = await run("promtool", ["check", "rules", path]);
  expect(stdout).toContain(`SUCCESS: ${rules.length} rules found`);
});
