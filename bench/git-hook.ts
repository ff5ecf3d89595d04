// The cost of follow mode's hooks for `git commit`: run with `node bench/git-hook.ts` after `npm run build`.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { setTimeout as pause } from "node:timers/promises";
import { FollowRepository } from "../test/integration/git/follow-repository.ts";
import { TestServer } from "../test/integration/harness/test-server.ts";

const COMMITS = 40;
/** Lets background work of the last commit finish. */
const REST_MS = 400;

type Kind = "without hooks" | "with hooks, no server" | "with hooks and server";

async function commitMs(repository: FollowRepository, kind: Kind): Promise<number> {
  const args = kind === "without hooks" ? ["-c", "core.hooksPath=/dev/null"] : [];
  const begin = performance.now();
  const git = spawn("git", [...args, "commit", "--quiet", "--allow-empty", "-m", "x"], {
    ...{ cwd: repository.tree.path, env: repository.env, stdio: "ignore" },
  });
  await once(git, "exit");
  return performance.now() - begin;
}

async function measure(repository: FollowRepository, kinds: readonly Kind[]): Promise<void> {
  const times = new Map<Kind, number[]>(kinds.map((kind) => [kind, []]));
  for (let round = 0; round < COMMITS; round += 1) {
    for (const kind of kinds) {
      times.get(kind)?.push(await commitMs(repository, kind));
      await pause(REST_MS);
    }
  }
  for (const [kind, ms] of times) {
    ms.sort((a, b) => a - b);
    const at = (part: number): string => (ms[Math.floor(ms.length * part)] ?? 0).toFixed(1);
    process.stdout.write(`${kind}: median ${at(0.5)} ms, p25 ${at(0.25)}, p90 ${at(0.9)}\n`);
  }
}

await using repository = await FollowRepository.make();
{
  await using server = await TestServer.start();
  const body = JSON.stringify({ repoPath: repository.main.path, branch: "feature", enable: true });
  await fetch(`${server.url}/api/worktrees/follow`, { method: "POST", body });
  await measure(repository, ["without hooks", "with hooks and server"]);
}
await measure(repository, ["without hooks", "with hooks, no server"]);
