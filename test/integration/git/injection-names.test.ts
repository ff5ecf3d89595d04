import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { runGit } from "../../../src/git/git-process.ts";
import { branchNameProblem } from "../../../src/git/worktrees/branches.ts";
import { GitRoom } from "../harness/git-repository.ts";
import { SEED, scaled } from "../harness/scale.ts";

/** Each is judged by a separate git, which takes most of the time. */
const NAMES = scaled(2_000);

/** git's verdict on each name: 1 if it may be a branch. In a folder without a repository `@{-1}` means nothing. */
async function judge(room: GitRoom, names: readonly string[]): Promise<readonly boolean[]> {
  const script =
    'for name do git -C "$HOME" check-ref-format --branch "$name" >/dev/null 2>&1 && echo 1 || echo 0; done';
  const command = { file: "sh", args: ["-c", script, "sh", ...names], env: room.env };
  const { stdout } = await runGit(command, { timeoutMs: 60_000, maxBytes: 1024 * 1024 });
  return stdout
    .trim()
    .split("\n")
    .map((line) => line === "1");
}

const WORDS = [
  ...[
    "HEAD",
    "@",
    "@{",
    "@{-1}",
    "{",
    "}",
    "..",
    ".",
    "/",
    "//",
    "-",
    "--",
    "-b",
    "--help",
    ".lock",
    "lock",
    "~",
    "^",
  ],
  ...[
    ":",
    "?",
    "*",
    "[",
    "]",
    "\\",
    " ",
    "\t",
    "\n",
    "\x7f",
    "\x01",
    "a",
    "main",
    "ü",
    "日本",
    "🌳",
    "é",
    "refs/heads/",
  ],
  ...[
    "origin",
    "x.lock",
    ".x",
    "x.",
    "$(id)",
    "`id`",
    ";",
    "|",
    "&",
    "'",
    '"',
    "%",
    "#",
    "=",
    ",",
    "!",
    "\u00a0",
  ],
];

describe("branch names", () => {
  const rough = fc
    .array(fc.constantFrom(...WORDS), { minLength: 0, maxLength: 6 })
    .map((words) => words.join(""));
  const any = fc.string({ unit: "binary", maxLength: 12 }).filter((text) => !text.includes("\0"));

  test("are taken exactly where git takes them", async () => {
    await using room = await GitRoom.make();
    const names = fc.sample(fc.oneof({ weight: 4, arbitrary: rough }, any), { numRuns: NAMES, seed: SEED });
    const verdicts = await judge(room, names);
    const differing = names.filter((name, at) => verdicts[at] !== (branchNameProblem(name) === undefined));
    expect({ seed: SEED, differing }).toEqual({ seed: SEED, differing: [] });
  });

  test("of every ASCII character are taken as git takes them, at the beginning, in the middle and at the end", async () => {
    await using room = await GitRoom.make();
    const ascii = Array.from({ length: 0x7f }, (_, code) => String.fromCodePoint(code + 1));
    const characters = [...ascii, "\u0080", "\u00a0", "\u00ad", "é", "\u2028", "\ufeff"];
    const names = characters.flatMap((one) => [
      one,
      `${one}x`,
      `x${one}x`,
      `x${one}`,
      `x/${one}`,
      `x${one}/x`,
    ]);
    const verdicts = await judge(room, names);
    const differing = names.filter((name, at) => verdicts[at] !== (branchNameProblem(name) === undefined));
    expect(differing).toEqual([]);
  });
});
