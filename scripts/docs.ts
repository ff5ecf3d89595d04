// Writes the documents that are generated from the source; with --check, fails if one is stale.
import { readFileSync } from "node:fs";
import { readFile, writeFile } from "node:fs/promises";
import { PACKAGED_UNITS } from "../src/cli/systemd/unit-file.ts";
import { optionsPage } from "./options-page.ts";

/** The alert rules as an object for the Prometheus operator. */
function prometheusRule(): string {
  const rules = readFileSync(new URL("../k8s/monitoring/alerts.yaml", import.meta.url), "utf8");
  const groups = rules.slice(rules.indexOf("groups:")).replace(/^(?=.)/gm, "  ");
  return `# Made of k8s/monitoring/alerts.yaml by "npm run docs".
apiVersion: monitoring.coreos.com/v1
kind: PrometheusRule
metadata:
  name: ttyhq
  namespace: ttyhq
  labels:
    app.kubernetes.io/name: ttyhq
    app.kubernetes.io/part-of: ttyhq
spec:
${groups}`;
}

const DOCUMENTS = [
  {
    url: new URL("../k8s/components/operator-monitoring/prometheus-rule.yaml", import.meta.url),
    make: prometheusRule,
  },
  { url: new URL("../docs/options.md", import.meta.url), make: optionsPage },
  ...Object.entries(PACKAGED_UNITS).map(([path, make]) => ({
    ...{ url: new URL(`../packaging/systemd/${path}`, import.meta.url), make },
  })),
];

const isCheck = process.argv.includes("--check");
for (const { url, make } of DOCUMENTS) {
  const text = make();
  if (!isCheck) {
    await writeFile(url, text);
  } else if ((await readFile(url, "utf8").catch(() => "")) !== text) {
    console.error(`${url.pathname} is stale: run "npm run docs"`);
    process.exitCode = 1;
  }
}
