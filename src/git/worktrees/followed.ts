// Which working tree is followed: said in the repository's own config (contract 7.3), where every tree of it finds it.
import type { Git } from "../git.ts";

/** The absolute path of the followed working tree. git takes the letters of a key's name for the same in both cases. */
export const FOLLOWED_KEY = "ttyhq.followWorktree";

export async function readFollowed(git: Git): Promise<string | undefined> {
  const isKey = ({ key, scope }: { readonly key: string; readonly scope: string }): boolean =>
    scope === "local" && key === FOLLOWED_KEY.toLowerCase();
  return (await git.config()).findLast(isKey)?.value;
}
