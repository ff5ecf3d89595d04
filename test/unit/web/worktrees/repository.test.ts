import { expect, test } from "vitest";
import { createCaller } from "../../../../src/protocol/client/caller.ts";
import { Repository } from "../../../../src/web/worktrees/repository.ts";
import { Events, shown } from "../hq.ts";
import { LosingServer } from "../losing-server.ts";
import { until } from "../until.ts";

const listOf = (baseBranch: string) => ({ baseBranch, repoPath: "/r", worktrees: [] });
const NO_FOLLOW = {
  ...{ enabled: false, isGitRepo: true, followMode: false, followBranch: null, currentBranch: "main" },
};

test("a reading that hangs on a lost connection is replaced on the next one", async () => {
  const events = new Events();
  const answers = {
    "/api/worktrees": listOf("main"),
    "/api/git/follow": NO_FOLLOW,
    "/api/repositories/branches": [],
    "/api/git/notifications": { notifications: [] },
  };
  const server = new LosingServer(answers);
  using repository = new Repository({
    ...{ caller: createCaller(server.send), path: "/r", client: "page" },
    ...{ subscribe: events.subscribe, stage: shown.stage },
  });
  await until(repository.state, (state) => state?.list.baseBranch === "main");
  server.isLost = true;
  repository.refresh();
  const hanging = await server.hanging;
  server.isLost = false;
  answers["/api/worktrees"] = listOf("trunk");
  events.tell({ type: "connected" });
  expect(hanging.aborted).toBe(true);
  await until(repository.state, (state) => state?.list.baseBranch === "trunk");
});
