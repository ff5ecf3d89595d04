import { execFileSync } from "node:child_process";
import { expect, test } from "vitest";
import { shellQuote } from "../../../../src/web/files/shell-quote.ts";

const PATHS = [
  ...[
    "/a/b-c_d.e",
    "/a b",
    "/it's",
    "/$HOME/`id`/$(id)",
    "/a;b|c&d>e<f",
    '/"x"',
    "/\\",
    "/*?[a]{b,c}",
    "/!x",
    "/#x",
    "/~",
  ],
  ...["/näh/日本/🙂", "/a\nrm -rf x\n", "/\x1b[31m", "/a\x7fb", "/a\x85b", "/it's\n\\n", "/\t"],
];

test.each(PATHS)("a shell reads %j as it is, and no control character is typed", (path) => {
  const quoted = shellQuote(path);
  expect(quoted).not.toMatch(/\p{Cc}/u);
  const read = execFileSync("bash", ["-c", `printf '%s\\0' ${quoted}`], { encoding: "utf8" });
  expect(read).toBe(`${path}\0`);
});

test("a plain path stays as it is", () => {
  expect(shellQuote("/tmp/image-2.png")).toBe("/tmp/image-2.png");
});
