// Repositories of this machine: worktrees, follow mode, and what is asked about them.
import { SERVERS_OWN } from "../auth/principal.ts";
import type { Worktrees } from "../git/worktrees.ts";
import type { Routes } from "../http/route.ts";
import { openFollow } from "./follow.ts";
import type { GitFactsPart } from "./git-facts.ts";

export type GitPart = AsyncDisposable & { readonly routes: Routes };

type FollowParts = Omit<Parameters<typeof openFollow>[0], "program" | "onChange">;

/** None on an HQ that has no sessions of its own: its users have no business on its disk. */
export async function openGit(
  parts: FollowParts & {
    readonly facts: Pick<GitFactsPart, "program" | "changed">;
  },
): Promise<GitPart> {
  const { program, changed } = parts.facts;
  if (program === undefined) return { routes: {}, [Symbol.asyncDispose]: async () => {} };
  // What only a server needs is not loaded into a session host.
  const [worktreesFile, { gitRoutes, absolute }, { followRoutes }] = await Promise.all([
    import("../git/worktrees.ts"),
    import("../http/routes/git-routes.ts"),
    import("../http/routes/follow-routes.ts"),
  ]);
  const worktrees: Worktrees = new worktreesFile.Worktrees({
    program,
    watch: { removed: async (git) => void (await part.follow.changed(git.cwd, git.account)) },
    follow: {
      enable: async ({ cwd: repoPath, account }, branch) =>
        void (await part.follow.enable({ repoPath, branch, user: account ?? SERVERS_OWN, account })),
    },
    now: () => performance.now(),
  });
  const part = await openFollow({
    ...{ ...parts, program },
    onChange: (commonDir) => {
      worktrees.forget(commonDir);
      changed(commonDir);
    },
  });
  const { follow, notices, sessionsIn } = part;
  const routes = {
    ...gitRoutes({ program, worktrees }),
    ...followRoutes({
      ...{ follow, notices, sessionsIn },
      absolute: (path, context) => absolute(program, path, context),
    }),
  };
  return { routes, [Symbol.asyncDispose]: () => part[Symbol.asyncDispose]() };
}
