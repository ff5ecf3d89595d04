import type { Git } from "../git.ts";
import { readRefs } from "../refs.ts";

/** What other branches are compared with. */
export type BaseBranch = {
  /** The short name, as it is on the remote. */
  readonly name: string;
  /** Its commit; `undefined` where there is none yet. */
  readonly commit: string | undefined;
};

const ORIGIN = "refs/remotes/origin/";
const HEADS = "refs/heads/";

/**
 * What origin/HEAD points to; else main, else master, where there is such a branch; else `current`, the branch of the
 * main working tree. Of a branch that is here and on the remote, the one that is here.
 */
export async function readBaseBranch(
  git: Git,
  current: () => Promise<string | undefined>,
): Promise<BaseBranch> {
  const known = await readRefs(git, [`${ORIGIN}HEAD`, `${HEADS}main`, `${HEADS}master`]);
  const remote = known.get(`${ORIGIN}HEAD`)?.symref;
  if (remote?.startsWith(ORIGIN)) {
    const name = remote.slice(ORIGIN.length);
    const refs = await readRefs(git, [`${HEADS}${name}`, remote]);
    return { name, commit: (refs.get(`${HEADS}${name}`) ?? refs.get(remote))?.commit };
  }
  for (const name of ["main", "master"]) {
    const ref = known.get(`${HEADS}${name}`);
    if (ref !== undefined) return { name, commit: ref.commit };
  }
  const name = (await current()) ?? "main";
  return { name, commit: (await readRefs(git, [`${HEADS}${name}`])).get(`${HEADS}${name}`)?.commit };
}
