import { ServiceError } from "../../protocol/errors.ts";

const HEADS = "refs/heads/";
/** What git-check-ref-format(1) keeps out of every ref: control characters, space and what has a meaning to git. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for
const FORBIDDEN = /[\x00-\x20\x7f~^:?*[\\]|\.\.|@\{|\/\/|^\/|[/.]$/;

/** Why git would not take this for a branch's name; `undefined`: it would, as `git check-ref-format --branch` says. */
export function branchNameProblem(name: string): string | undefined {
  if (name === "") return "it is empty";
  if (!name.isWellFormed()) return "it is no text";
  if (name.startsWith("-")) return "it begins with a hyphen";
  if (name === "HEAD") return "HEAD is what git calls the current commit";
  const [forbidden] = FORBIDDEN.exec(name) ?? [];
  if (forbidden !== undefined) return `it has ${JSON.stringify(forbidden)} where a branch must not`;
  for (const part of name.split("/")) {
    if (part.startsWith(".")) return "a part of it begins with a dot";
    if (part.endsWith(".lock")) return "a part of it ends with .lock";
  }
  return undefined;
}

/** The name without `refs/heads/`, which old clients send with it. Throws `invalid_branch_name`. */
export function shortBranchName(text: string): string {
  const name = text.startsWith(HEADS) ? text.slice(HEADS.length) : text;
  const problem = branchNameProblem(name);
  if (problem === undefined) return name;
  throw new ServiceError(
    "invalid_branch_name",
    `${JSON.stringify(text)} is no name for a branch: ${problem}`,
  );
}

/** The ref of a branch, which git takes for nothing else. */
export function branchRef(name: string): string {
  return `${HEADS}${name}`;
}
