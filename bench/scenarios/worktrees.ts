import { z } from "zod";
import type { Peer } from "../lib/peer.ts";
import { makeRepository, statusOfAll } from "../lib/repository.ts";
import { percentile } from "../lib/samples.ts";
import type { Scenario, Values } from "../lib/scenario.ts";
import type { Workshop } from "../lib/workshop.ts";
import { TtyhqProcess } from "../peers/ttyhq-process.ts";

const SIZE = { files: 10_000, worktrees: 50 };
const COLD_LISTS = 5;
const CACHED_LISTS = 300;
const WARM_UP_LISTS = 50;

const List = z.object({
  worktrees: z.array(z.object({ commitsAhead: z.int(), hasUncommittedChanges: z.boolean() })),
});

/** The list that every opened worktrees view waits for. */
export const worktrees: Scenario = {
  name: "worktrees",
  title: `GET /api/worktrees: ${SIZE.worktrees} worktrees of a repository with ${SIZE.files} files`,
  isOptional: true,
  metrics: [
    { name: "cold", unit: "ms", digits: 0 },
    { name: "git status alone", unit: "ms", digits: 0 },
    { name: "from the cache: p50", unit: "ms", digits: 2 },
    { name: "from the cache: p99", unit: "ms", digits: 2 },
  ],
  takes: (peer) => peer.name === "ttyhq",
  run,
};

async function run(_: Peer, workshop: Workshop): Promise<Values> {
  const repository = await makeRepository(workshop.directory, SIZE);
  await using server = await TtyhqProcess.start();
  const cold: number[] = [];
  const alone: number[] = [];
  for (let at = 0; at < COLD_LISTS; at++) {
    // The cache works per request: each folder is a separate one.
    cold.push(await listed(server, `${repository}/folder-${at}`));
    alone.push(await statusOfAll(repository, SIZE.worktrees));
  }
  const cached: number[] = [];
  for (let at = -WARM_UP_LISTS; at < CACHED_LISTS; at++) {
    const ms = await listed(server, repository);
    // An entry expires now and then and is read again.
    if (at >= 0 && ms < percentile(cold, 50) / 2) cached.push(ms);
  }
  return {
    cold: percentile(cold, 50),
    "git status alone": percentile(alone, 50),
    "from the cache: p50": percentile(cached, 50),
    "from the cache: p99": percentile(cached, 99),
  };
}

/** Its duration in milliseconds. Throws Error if the answer is incomplete. */
async function listed(server: TtyhqProcess, repoPath: string): Promise<number> {
  const began = performance.now();
  const answer = await fetch(`${server.origin}/api/worktrees?${new URLSearchParams({ repoPath })}`);
  const body: unknown = await answer.json();
  const ms = performance.now() - began;
  const { worktrees: all } = List.parse(body);
  const dirty = all.filter((worktree) => worktree.hasUncommittedChanges).length;
  if (all.length !== SIZE.worktrees + 1 || dirty !== Math.ceil(SIZE.worktrees / 3)) {
    throw new Error(`${all.length} worktrees, ${dirty} with changes`);
  }
  return ms;
}
