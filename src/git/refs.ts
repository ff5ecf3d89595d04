import type { Git } from "./git.ts";

export type Ref = {
  readonly commit: string;
  /** What it stands for, where it is a symbolic one; else empty. */
  readonly symref: string;
};

const FORMAT = "--format=%(refname)%00%(objectname)%00%(symref)";

/** Those of these refs that there are, by their full names. */
export async function readRefs(git: Git, names: readonly string[]): Promise<ReadonlyMap<string, Ref>> {
  const refs = new Map<string, Ref>();
  for (const line of (await git.read("for-each-ref", FORMAT, "--", ...names)).split("\n")) {
    const [name = "", commit = "", symref = ""] = line.split("\0");
    // A pattern stands for the refs below it, too.
    if (names.includes(name)) refs.set(name, { commit, symref });
  }
  return refs;
}

/** The branches of that name that remotes had when they were last asked, by their full names. */
export async function readRemoteRefs(git: Git, branch: string): Promise<readonly string[]> {
  const text = await git.read("for-each-ref", "--format=%(refname)", "--", `refs/remotes/*/${branch}`);
  return text.split("\n").filter((name) => name !== "");
}
