import { existsSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { GitRoom } from "../harness/git-repository.ts";
import { Rest } from "../harness/rest.ts";
import { TestServer } from "../harness/test-server.ts";
import { TRAPS } from "./traps.ts";

let room: GitRoom;
let server: TestServer;
let rest: Rest;

beforeAll(async () => {
  room = await GitRoom.make();
  server = await TestServer.start({ env: { ...room.env } });
  rest = new Rest(server);
});

afterAll(async () => {
  await server?.[Symbol.asyncDispose]();
  await room?.[Symbol.asyncDispose]();
});

/** All reading operations. */
async function poll(folder: string): Promise<readonly number[]> {
  const path = encodeURIComponent(folder);
  const questions = [
    ...["worktrees?repoPath", "repositories/branches?path", "repositories/discover?maxDepth=2&path"],
    ...["git/repo-info?path", "git/status?path", "git/remote?path", "git/repository-info?path"],
  ];
  const answers = await Promise.all(questions.map((question) => rest.get(`/api/${question}=${path}`)));
  return answers.map(({ status }) => status);
}

describe("reading a repository runs no program", () => {
  test.each(TRAPS.map((trap, at) => [trap.name, trap, at] as const))("%s", async (_, trap, at) => {
    const repository = await room.repository(`trap${at}/repo`);
    const caught = room.at(`trap${at}/caught`);
    const program = await room.script(room.at(`trap${at}/program`), `echo caught >> ${caught}`);
    await trap.set(room, repository, program);
    const folders = [repository, ...["tree", "other", "plain", "sub"].map((name) => join(repository, name))];
    for (const folder of folders.filter((one) => existsSync(one))) await poll(folder);
    expect(existsSync(caught)).toBe(false);
    // Proves that the trap works: plain git runs it.
    const [folder, ...command] = trap.springs ?? [];
    if (folder === undefined) return;
    await room.git(join(repository, folder), ...command).catch(() => undefined);
    expect(existsSync(caught)).toBe(true);
  });
});

describe("what is trusted", () => {
  test("a filter of the user's own config works, also where the repository's config has one of that name", async () => {
    const repository = await room.repository("trusted");
    await room.write(join(repository, ".gitattributes"), "*.txt filter=mine\n");
    await room.git(repository, "config", "--global", "filter.mine.clean", "tr x y");
    await room.commit(repository);
    await room.write(join(repository, "c.txt"), "yyy\n");
    await room.commit(repository);
    // The filter's clean result equals the committed content, so nothing has changed.
    await room.write(join(repository, "c.txt"), "xxx\n");
    const status = async (): Promise<unknown> =>
      (await rest.get(`/api/git/status?path=${encodeURIComponent(repository)}`)).json;
    expect(await status()).toMatchObject({ hasChanges: false });
    const caught = room.at("trusted-caught");
    await room.git(repository, "config", "filter.mine.clean", `touch ${caught}; cat`);
    expect(await status()).toMatchObject({ hasChanges: false });
    expect(existsSync(caught)).toBe(false);
  });

  test("a repository with more filters than anybody has is refused", async () => {
    const repository = await room.repository("filters");
    const sections = Array.from({ length: 1_001 }, (_, at) => `[filter "f${at}"]\nclean = false\n`);
    await room.append(join(repository, ".git/config"), sections.join(""));
    const answer = await rest.get(`/api/git/status?path=${encodeURIComponent(repository)}`);
    expect(answer).toMatchObject({ status: 403, json: { code: "forbidden" } });
  });

  test("reading an endless config is aborted", async () => {
    const repository = await room.repository("fifo");
    const { execFileSync } = await import("node:child_process");
    execFileSync("mkfifo", [join(repository, ".git/more")]);
    await room.git(repository, "config", "include.path", "more");
    const answer = await rest.get(`/api/git/status?path=${encodeURIComponent(repository)}`);
    expect(answer).toMatchObject({ status: 504, json: { code: "git_timeout" } });
  });
});
