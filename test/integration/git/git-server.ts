// A server, a folder for repositories, and common requests of tests.
import type { WorktreeList, WorktreeRecord } from "../../../src/protocol/schemas/git.ts";
import { GitRoom } from "../harness/git-repository.ts";
import { type Answer, ask, type Question } from "../harness/http.ts";
import { TestServer } from "../harness/test-server.ts";

export class GitServer implements AsyncDisposable {
  readonly room: GitRoom;
  readonly server: TestServer;

  private constructor(room: GitRoom, server: TestServer) {
    this.room = room;
    this.server = server;
  }

  static async start(): Promise<GitServer> {
    const room = await GitRoom.make();
    return new GitServer(room, await TestServer.start({ env: { ...room.env } }));
  }

  get(path: string, query: Readonly<Record<string, string>>): Promise<Answer> {
    return this.#ask(`${path}?${new URLSearchParams(query)}`);
  }

  async list(repoPath: string): Promise<WorktreeList> {
    const answer = await this.get("worktrees", { repoPath });
    if (answer.status !== 200) throw new Error(answer.text);
    return answer.json;
  }

  /** The working tree at that path; throws if it is not listed. */
  async tree(repoPath: string, path: string): Promise<WorktreeRecord> {
    const found = (await this.list(repoPath)).worktrees.find((worktree) => worktree.path === path);
    if (found === undefined) throw new Error(`${path} is not listed`);
    return found;
  }

  async follow(repoPath: string, branch: string): Promise<void> {
    const { status, text } = await this.post("worktrees/follow", { repoPath, branch, enable: true });
    if (status !== 200) throw new Error(text);
  }

  add(body: Readonly<Record<string, string>>): Promise<Answer> {
    return this.post("worktrees", body);
  }

  remove(branch: string, query: Readonly<Record<string, string>>): Promise<Answer> {
    const path = `worktrees/${encodeURIComponent(branch)}?${new URLSearchParams(query)}`;
    return this.#ask(path, { method: "DELETE" });
  }

  post(path: string, body: unknown): Promise<Answer> {
    return this.#ask(path, { body });
  }

  #ask(path: string, question?: Question): Promise<Answer> {
    return ask(this.server.url, `/api/${path}`, question);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.server[Symbol.asyncDispose]();
    await this.room[Symbol.asyncDispose]();
  }
}
