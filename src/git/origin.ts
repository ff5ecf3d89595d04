import type { Git } from "./git.ts";
import { withoutPassword } from "./remote-url.ts";

const KEY = "remote.origin.url";

/** Where the remote called origin is, without a password; `undefined` where there is none of that name. */
export async function readOrigin(git: Git): Promise<string | undefined> {
  // Of several addresses the first is fetched from.
  const url = (await git.config()).find(({ key }) => key === KEY)?.value;
  return url === undefined ? undefined : withoutPassword(url);
}
