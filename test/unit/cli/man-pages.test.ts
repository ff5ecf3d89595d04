import { expect, test } from "vitest";
import manifest from "../../../package.json" with { type: "json" };
import { manPages } from "../../../scripts/man-pages.ts";

const pages = await manPages();

test("the npm package names each page, so that npm installs it", () => {
  expect(manifest.man).toEqual([...pages.keys()].map((name) => `man/${name}`).toSorted());
});

test("each command has a manual page with its options and examples", () => {
  const run = pages.get("ttyhq-run.1");
  expect(run).toContain(".B \\-n, \\-\\-name <name>\nname of the session\n");
  expect(run).toContain(".SH EXAMPLES\n.TP\n.B ttyhq run \\-\\- make \\-j8\na build that");
  expect(pages.get("ttyhq-token.1")).toContain(".SS revoke\n.B ttyhq token revoke\n");
});

test("the page of the program lists every other page", () => {
  const listed = pages.get("ttyhq.1")?.matchAll(/^\.B (ttyhq.+)\(1\)$/gm) ?? [];
  const names = [...listed].map(([, name]) => `${name?.replaceAll("\\-", "-")}.1`);
  expect(["ttyhq.1", ...names].toSorted()).toEqual([...pages.keys()].toSorted());
});

test("no text of an option becomes a roff command", () => {
  const commands = /^\.(?:TH|SH|SS|TP|PP|B|br|nh|ad)\b/;
  for (const page of pages.values())
    for (const line of page.split("\n")) if (/^[.']/.test(line)) expect(line).toMatch(commands);
});

test("a page has only intended escape sequences", () => {
  for (const page of pages.values())
    for (const [sequence] of page.matchAll(/\\./g))
      expect(["\\-", "\\e", "\\&", "\\(", "\\f"]).toContain(sequence);
});
