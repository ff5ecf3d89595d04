import { createHash } from "node:crypto";
import type { z } from "zod";
import { type Principal, SERVERS_OWN } from "../../auth/principal.ts";
import { endpoints } from "../../protocol/endpoints/endpoints.ts";
import { parseJson } from "../../protocol/json.ts";
import type {
  Repositories,
  RepositoryEndpointName,
  RepositoryInput,
} from "../../repositories/repositories.ts";
import type { Context, Routes } from "../route.ts";

/** Repositories, worktrees and follow mode, with the rights of the user who asks (contract 7, 10.10). */
export function repositoryRoutes(repositories: Repositories): Routes {
  const answer =
    (name: RepositoryEndpointName) =>
    async (input: RepositoryInput, { principal, signal }: Context): Promise<Uint8Array> => {
      const { owner, account, rights } = principal;
      const caller = { user: nameOf(principal), owner, account, seesAll: rights.kind === "all" };
      return await repositories.call(name, input, caller, signal);
    };
  // The audit log quotes the answers about changes.
  const object =
    <T>(name: RepositoryEndpointName, { json }: { readonly json: z.ZodType<T> }) =>
    async (input: RepositoryInput, context: Context): Promise<T> => {
      return json.parse(parseJson(await answer(name)(input, context)));
    };
  return {
    listWorktrees: answer("listWorktrees"),
    createWorktree: object("createWorktree", endpoints.createWorktree.reply),
    removeWorktree: object("removeWorktree", endpoints.removeWorktree.reply),
    pruneWorktrees: object("pruneWorktrees", endpoints.pruneWorktrees.reply),
    switchBranch: object("switchBranch", endpoints.switchBranch.reply),
    repositoryInfo: answer("repositoryInfo"),
    repositoryStatus: answer("repositoryStatus"),
    repositoryRemote: answer("repositoryRemote"),
    repositorySummary: answer("repositorySummary"),
    listBranches: answer("listBranches"),
    discoverRepositories: answer("discoverRepositories"),
    setFollow: object("setFollow", endpoints.setFollow.reply),
    getFollow: answer("getFollow"),
    gitEvent: answer("gitEvent"),
    listNotifications: ({ query: { client = "" } }, context) =>
      answer("listNotifications")({ query: { client: noticeReader(client, context) } }, context),
  };
}

/**
 * Identifies a reader of notifications, who receives each of them once (contract 7.6): by login or address, and by the
 * client's own name. An HQ has already distinguished its clients.
 */
export function noticeReader(
  client: string,
  { principal, address }: Pick<Context, "principal" | "address">,
): string {
  const login = principal.method === "hq" ? "hq" : (principal.tokenId ?? address);
  return createHash("sha256")
    .update(JSON.stringify([principal.user, nameOf(principal), login, client]))
    .digest("base64url");
}

/** The owner of the caller's sessions and notifications. */
export function nameOf(principal: Pick<Principal, "owner">): string {
  return principal.owner ?? SERVERS_OWN;
}
