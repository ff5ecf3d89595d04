import type { z } from "zod";
import { endpoints } from "../../protocol/endpoints/endpoints.ts";
import type {
  Repositories,
  RepositoryEndpointName,
  RepositoryInput,
} from "../../repositories/repositories.ts";
import { type Context, JsonBytes, type Routes } from "../route.ts";
import { nameOf, noticeReader } from "./notice-reader.ts";

/** Repositories, worktrees and follow mode, with the rights of the user who asks (contract 7, 10.10). */
export function repositoryRoutes(repositories: Repositories): Routes {
  const answer =
    (name: RepositoryEndpointName) =>
    async (input: RepositoryInput, { principal, signal }: Context): Promise<JsonBytes> => {
      const { owner, account, rights } = principal;
      const caller = { user: nameOf(principal), owner, account, seesAll: rights.kind === "all" };
      return new JsonBytes(await repositories.call(name, input, caller, signal));
    };
  // The audit log quotes the answers about changes.
  const object =
    <T>(name: RepositoryEndpointName, { json }: { readonly json: z.ZodType<T> }) =>
    async (input: RepositoryInput, context: Context): Promise<T> => {
      const { bytes } = await answer(name)(input, context);
      return json.parse(JSON.parse(new TextDecoder().decode(bytes)));
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
