// The contract of SessionBackend, as one suite that every implementation must pass.
import { afterAll, beforeAll, describe } from "vitest";
import { describeCommands } from "./commands.ts";
import { describeFollowing } from "./following.ts";
import { describeLifecycle } from "./lifecycle.ts";
import { describeRefusals } from "./refusals.ts";
import { type BackendUnderTest, Stage } from "./stage.ts";
import { describeViewing } from "./viewing.ts";

export function describeBackend(name: string, open: () => Promise<BackendUnderTest>): void {
  describe(name, () => {
    const stage = new Stage(open);
    beforeAll(() => stage.open());
    afterAll(() => stage[Symbol.asyncDispose]());
    describeLifecycle(stage);
    describeCommands(stage);
    describeViewing(stage);
    describeFollowing(stage);
    describeRefusals(stage);
  });
}
