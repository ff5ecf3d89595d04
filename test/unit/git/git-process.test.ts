import { expect, test } from "vitest";
import { triedWithoutDescriptors } from "../sessions/without-descriptors.ts";

test("a git for which the system has nothing left at the moment is busy, and runs when it is asked again", async () => {
  const { href } = new URL("../../../src/git/git-process.ts", import.meta.url);
  const before = `
    import { runGit } from "${href}";
    const command = { file: "true", args: [], env: { PATH: process.env.PATH } };
    const run = () => runGit(command, { timeoutMs: 10_000, maxBytes: 1_000 }).then(({ code }) => code, ({ code }) => code);
  `;
  expect(await triedWithoutDescriptors(before, "run()")).toBe("git_busy,0");
});
