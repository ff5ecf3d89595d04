import type { Git } from "./git.ts";

/** Where the remote called origin is, without a password; `undefined` where there is none of that name. */
export async function readOrigin(git: Git): Promise<string | undefined> {
  // Of several addresses the first is fetched from.
  const url = (await git.config()).find(({ key }) => key === "remote.origin.url")?.value;
  return url === undefined ? undefined : withoutPassword(url);
}

/** A remote's address without the password that it may hold. A user alone is part of the address of ssh. */
export function withoutPassword(url: string): string {
  const [, scheme, userinfo, rest] = /^([a-z][a-z0-9+.-]*:\/\/)([^/?#]*)@(.*)$/is.exec(url) ?? [];
  if (scheme === undefined || userinfo === undefined || rest === undefined) return url;
  const isWeb = /^https?:/i.test(scheme);
  // A token may stand in either half.
  const [user = ""] = userinfo.split(":", 1);
  return isWeb || user === "" ? `${scheme}${rest}` : `${scheme}${user}@${rest}`;
}

/** The page of a repository on GitHub; `undefined` for an address elsewhere. */
export function gitHubUrl(url: string): string | undefined {
  const path =
    /^(?:https?|git|ssh):\/\/(?:[^/@]*@)?(?:www\.)?github\.com(?::\d+)?\/(.+)$/i.exec(url)?.[1] ??
    /^(?:[^/@:]+@)?github\.com:(.+)$/i.exec(url)?.[1];
  const [, owner, name] = /^\/?([\w.-]+)\/([\w.-]+?)(?:\.git)?\/?$/.exec(path ?? "") ?? [];
  return owner === undefined || name === undefined ? undefined : `https://github.com/${owner}/${name}`;
}
