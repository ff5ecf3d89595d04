// Writes the documents that are made from the source; with --check, fails when one is stale.
import { readFile, writeFile } from "node:fs/promises";
import { PACKAGED_UNITS } from "../src/cli/systemd/unit-file.ts";
import { optionsPage } from "./options-page.ts";

const DOCUMENTS = [
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
