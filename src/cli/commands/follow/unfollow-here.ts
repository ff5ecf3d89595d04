// `ttyhq unfollow` where neither a server nor a session host answers: this process ends follow mode as theirs would.
import { FollowMode } from "../../../git/follow/follow-mode.ts";
import { FollowList } from "../../../git/follow/list.ts";
import { GitProgram } from "../../../git/git.ts";
import { FollowHooks } from "../../../git/hooks/follow-hooks.ts";
import type { FollowReply } from "../../../protocol/schemas/follow.ts";
import { FollowFile } from "../../../repositories/follow-file.ts";
import { openControlDir } from "../../../sessions/storage/control-dir.ts";
import type { Cli } from "../../process-context.ts";

/** Throws as the endpoint does. No other process may use the control directory meanwhile. */
export async function unfollowHere(
  cli: Pick<Cli, "env" | "cwd" | "user" | "program">,
  controlDir: string,
  { isDryRun }: { readonly isDryRun: boolean },
): Promise<FollowReply> {
  const file = await FollowFile.open(openControlDir(controlDir).follow);
  const list = new FollowList(file.of(undefined), (entries) => file.set(undefined, entries));
  const program = new GitProgram({ env: cli.env });
  const hooks = new FollowHooks({ list, target: { ...cli.program, controlDir } });
  // Without notifications; errors are thrown.
  const [notices, log] = [{ add: () => {} }, { info: () => {}, warn: () => {} }];
  const now = (): number => performance.now();
  await using follow = new FollowMode({ program, list, hooks, notices, log, now, onChange: () => {} });
  return await follow.disable({ repoPath: cli.cwd, user: cli.user, dryRun: isDryRun });
}
