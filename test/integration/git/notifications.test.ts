import { expect, test } from "vitest";
import { FrameType } from "../../../src/protocol/frame/frame.ts";
import { SubscribeFlag } from "../../../src/protocol/frame/payload.ts";
import { ask } from "../harness/http.ts";
import { RawSocket } from "../harness/raw-socket.ts";
import { TestServer } from "../harness/test-server.ts";
import { placed } from "./follow-checks.ts";
import { FollowRepository } from "./follow-repository.ts";

type Told = { readonly notifications: readonly { readonly title: string; readonly type: string }[] };

async function told(server: TestServer, client: string): Promise<readonly string[]> {
  const { json } = await ask(server.url, `/api/git/notifications?client=${client}`);
  const { notifications }: Told = json;
  return notifications.map(({ title }) => title);
}

async function follow(server: TestServer, repository: FollowRepository): Promise<void> {
  const body = { repoPath: repository.main.path, branch: "feature", enable: true };
  expect((await ask(server.url, "/api/worktrees/follow", { body })).status).toBe(200);
}

test("each client is told each notification once", async () => {
  await using repository = await FollowRepository.make();
  await using server = await TestServer.start();
  await follow(server, repository);
  expect(await told(server, "one")).toEqual(["Follow Mode Active", "Main Repository Synced"]);
  expect(await told(server, "one")).toEqual([]);
  expect(await told(server, "two")).toEqual(["Follow Mode Active", "Main Repository Synced"]);
  await repository.main.git("switch", "--quiet", "main");
  for (const client of ["one", "two"]) {
    const heard: string[] = [];
    const poll = async (): Promise<readonly string[]> => {
      heard.push(...(await told(server, client)));
      return heard;
    };
    await expect.poll(poll, { interval: 10 }).toEqual(["Follow Mode Disabled"]);
  }
});

test("subscribers of all events and viewers of a session in that repository get an event", async () => {
  await using repository = await FollowRepository.make();
  await using server = await TestServer.start();
  const session = await server.client().create({ command: ["cat"], cwd: repository.tree.path });
  const elsewhere = await server.client().create({ command: ["cat"], cwd: repository.directory });
  await using everything = await RawSocket.open(server.url);
  await using one = await RawSocket.open(server.url);
  await using other = await RawSocket.open(server.url);
  everything.subscribe("", { flags: SubscribeFlag.Events });
  one.subscribe(session.id, { flags: SubscribeFlag.Events });
  other.subscribe(elsewhere.id, { flags: SubscribeFlag.Events });
  await Promise.all([everything, one, other].map((socket) => socket.settled()));
  await placed(() => server.client().get(session.id));
  await follow(server, repository);
  const told = { type: "main-synced", title: "Main Repository Synced", repoPath: repository.main.path };
  const isSync = (event: Record<string, unknown>): boolean => JSON.stringify(event).includes("main-synced");
  expect(await everything.json(FrameType.EVENT, isSync)).toMatchObject({
    ...{ type: "git-notification", notification: told, sessionIds: [session.id] },
  });
  expect(await one.json(FrameType.EVENT, isSync)).toMatchObject({
    ...{ type: "git-notification", notification: told, sessionId: session.id },
  });
  await Promise.all([everything, one, other].map((socket) => socket.settled()));
  const count = (socket: RawSocket): number => socket.jsons(FrameType.EVENT).filter(isSync).length;
  expect([count(everything), count(one), count(other)]).toEqual([1, 1, 0]);
});

test("an event says what it has found", async () => {
  await using repository = await FollowRepository.make();
  await using server = await TestServer.start();
  const session = await server.client().create({ command: ["cat"], cwd: repository.main.path });
  await placed(() => server.client().get(session.id));
  await follow(server, repository);
  const body = { repoPath: repository.tree.path, event: "commit" };
  const { json } = await ask(server.url, "/api/git/event", { body });
  const repoPath = repository.main.path;
  expect(json).toEqual({
    ...{ success: true, repoPath, sessionsUpdated: 1, followMode: true },
    notification: {
      ...{ type: "git-event", repoPath, branch: "feature", event: "commit" },
      ...{ followMode: true, sessionsUpdated: [session.id] },
    },
  });
});
