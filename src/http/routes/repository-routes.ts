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
  const answer = async (
    name: RepositoryEndpointName,
    input: RepositoryInput,
    { principal, signal }: Context,
  ): Promise<JsonBytes> => {
    const { owner, account, rights } = principal;
    const caller = { user: nameOf(principal), owner, account, seesAll: rights.kind === "all" };
    return new JsonBytes(await repositories.call(name, input, caller, signal));
  };
  // The audit log quotes the answers about changes.
  const object = async (...call: Parameters<typeof answer>): Promise<unknown> =>
    JSON.parse(new TextDecoder().decode((await answer(...call)).bytes));
  return {
    listWorktrees: (input, context) => answer("listWorktrees", input, context),
    createWorktree: async (input, context) =>
      endpoints.createWorktree.reply.json.parse(await object("createWorktree", input, context)),
    removeWorktree: async (input, context) =>
      endpoints.removeWorktree.reply.json.parse(await object("removeWorktree", input, context)),
    pruneWorktrees: async (input, context) =>
      endpoints.pruneWorktrees.reply.json.parse(await object("pruneWorktrees", input, context)),
    switchBranch: async (input, context) =>
      endpoints.switchBranch.reply.json.parse(await object("switchBranch", input, context)),
    repositoryInfo: (input, context) => answer("repositoryInfo", input, context),
    repositoryStatus: (input, context) => answer("repositoryStatus", input, context),
    repositoryRemote: (input, context) => answer("repositoryRemote", input, context),
    repositorySummary: (input, context) => answer("repositorySummary", input, context),
    listBranches: (input, context) => answer("listBranches", input, context),
    discoverRepositories: (input, context) => answer("discoverRepositories", input, context),
    setFollow: async (input, context) =>
      endpoints.setFollow.reply.json.parse(await object("setFollow", input, context)),
    getFollow: (input, context) => answer("getFollow", input, context),
    gitEvent: (input, context) => answer("gitEvent", input, context),
    listNotifications: ({ query: { client = "" } }, context) =>
      answer("listNotifications", { query: { client: noticeReader(client, context) } }, context),
  };
}
