// Follow mode on a remote, used only through the HQ.
import { expect, test } from "vitest";
import { FrameType } from "../../../src/protocol/frame/frame.ts";
import { SubscribeFlag } from "../../../src/protocol/frame/payload.ts";
import { RawSocket } from "../harness/raw-socket.ts";
import { TestFleet } from "../harness/test-fleet.ts";
import { placed } from "./follow-checks.ts";
import { FollowRepository } from "./follow-repository.ts";

const API = "/api/remotes/worker-1/proxy/api";

type Happened = Record<string, unknown>;

/** The expected state. */
async function setFollow(fleet: TestFleet, repository: FollowRepository, enable: boolean): Promise<void> {
  const body = { repoPath: repository.main.path, branch: "feature", enable };
  expect(await fleet.ask(`${API}/worktrees/follow`, { body })).toMatchObject({
    ...{ status: 200, json: { success: true, enabled: enable } },
  });
}

async function told(fleet: TestFleet, client: string): Promise<readonly string[]> {
  const { json } = await fleet.ask(`${API}/git/notifications?client=${client}`);
  return json.notifications.map(({ title }: { readonly title: string }) => title);
}

async function watching(fleet: TestFleet, sessionId: string): Promise<RawSocket> {
  const socket = await RawSocket.open(fleet.hq.url);
  socket.subscribe(sessionId, { flags: SubscribeFlag.Events });
  await socket.settled();
  return socket;
}

const about = (text: string) => (event: Happened) =>
  event.type === "git-notification" && JSON.stringify(event).includes(text);

test("through an HQ follow mode is turned on, follows, and is turned off without a trace", async () => {
  await using repository = await FollowRepository.make();
  await using fleet = await TestFleet.start();
  const { main, tree } = repository;
  const config = await main.read(".git/config");
  await setFollow(fleet, repository, true);
  const status = await fleet.ask(`${API}/git/follow?path=${encodeURIComponent(tree.path)}`);
  expect(status.json).toMatchObject({ enabled: true, branch: "feature", worktreePath: tree.path });
  await tree.commit("one.txt", "one\n");
  await expect.poll(() => main.read("one.txt")).toBe("one\n");
  await tree.git("switch", "--quiet", "--create", "second");
  await expect.poll(() => main.branch()).toBe("second");
  await main.commit("two.txt", "two\n");
  await expect.poll(() => tree.read("two.txt")).toBe("two\n");
  await setFollow(fleet, repository, false);
  expect([await main.read(".git/config"), await main.git("for-each-ref", "refs/worktree")]).toEqual([
    ...[config, ""],
  ]);
  expect([await main.status(), await tree.status(), await tree.branch()]).toEqual(["", "", "second"]);
});

test("viewers of a session in the repository at the HQ are notified, and no others", async () => {
  await using repository = await FollowRepository.make();
  await using fleet = await TestFleet.start({ remotes: 2 });
  const session = await fleet.create("worker-1", { command: ["cat"], cwd: repository.tree.path });
  // The same folder on another machine is another repository.
  const elsewhere = await fleet.create("worker-2", { command: ["cat"], cwd: repository.tree.path });
  await using everything = await watching(fleet, "");
  await using one = await watching(fleet, session.id);
  await using other = await watching(fleet, elsewhere.id);
  await placed(() => fleet.hq.client().get(session.id));
  await setFollow(fleet, repository, true);
  const isSync = about("main-synced");
  const notification = {
    type: "main-synced",
    title: "Main Repository Synced",
    repoPath: repository.main.path,
  };
  const event = { type: "git-notification", notification, sessionIds: [session.id], remoteName: "worker-1" };
  expect(await everything.json(FrameType.EVENT, isSync)).toMatchObject(event);
  expect(await one.json(FrameType.EVENT, isSync)).toMatchObject({ ...event, sessionId: session.id });
  await setFollow(fleet, repository, false);
  const isEnd = about("follow-disabled");
  for (const socket of [everything, one]) await socket.json(FrameType.EVENT, isEnd);
  await other.settled();
  const counts = [everything, one, other].map((socket) => [
    socket.jsons(FrameType.EVENT).filter(isSync).length,
    socket.jsons(FrameType.EVENT).filter(isEnd).length,
  ]);
  expect(counts).toEqual([
    [1, 1],
    [1, 1],
    [0, 0],
  ]);
});

test("each client of the HQ reads each notification of a remote once", async () => {
  await using repository = await FollowRepository.make();
  await using fleet = await TestFleet.start();
  await setFollow(fleet, repository, true);
  for (const client of ["one", "two"]) {
    expect(await told(fleet, client)).toEqual(["Follow Mode Active", "Main Repository Synced"]);
    expect(await told(fleet, client)).toEqual([]);
  }
});
