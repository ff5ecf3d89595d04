// What docs/testing.md says is so.
import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import * as kit from "../../../packages/testing/src/kit.ts";

const read = (path: string): string => readFileSync(new URL(`../../../${path}`, import.meta.url), "utf8");
const page = read("docs/testing.md");

test("the example is a test of this project, to the letter", () => {
  const [, example = ""] = /```ts\n([\s\S]*?)```/.exec(page) ?? [];
  const source = read("test/integration/testing/example.test.ts");
  expect(example).toBe(source.replace("../../../packages/testing/src/kit.ts", "@ttyhq/testing"));
});

test("the example of the package's README is a part of it", () => {
  const [, , ...lines] =
    /```ts\n([\s\S]*?)```/.exec(read("packages/testing/README.md"))?.[1]?.split("\n") ?? [];
  const source = read("test/integration/testing/example.test.ts");
  expect(lines.length).toBeGreaterThan(5);
  expect(lines.filter((line) => !source.includes(line))).toEqual([]);
});

test("everything that the kit has is on the page", () => {
  expect(Object.keys(kit).filter((name) => !page.includes(name))).toEqual([]);
});

test("every member that the page names is there", () => {
  const [, table = ""] = /## What is in it\n([\s\S]*?)\n## /.exec(page) ?? [];
  const sources = ["cluster", "container", "started", "server-client", "terminal-client"]
    .map((name) => read(`packages/testing/src/${name}.ts`))
    .join("\n");
  const named = [...table.matchAll(/`(?:service|terminal|cluster)?\.?([a-z][A-Za-z]+)/g)].map(
    ([, name = ""]) => name,
  );
  expect(named.length).toBeGreaterThan(40);
  const isMember = (name: string): boolean =>
    new RegExp(`^  (?:async |get |static |readonly )*${name}\\b`, "m").test(sources);
  expect(named.filter((name) => name !== "new" && !isMember(name) && !(name in kit))).toEqual([]);
});
