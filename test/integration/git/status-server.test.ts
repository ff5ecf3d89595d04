// Git status in the records of sessions, as the clients of a server and of an HQ see them.
import { execFile } from "node:child_process";
import { rm } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { expect, test } from "vitest";
import { eventually } from "../../../packages/testing/src/wait.ts";
import type { SessionRecord } from "../../../src/protocol/schemas/session.ts";
import { GitRoom } from "../harness/git-repository.ts";
import { gitWorkers } from "../harness/git-workers.ts";
import { USERNAME } from "../harness/password-server.ts";
import { People, Person } from "../harness/people.ts";
import { ServerEvents } from "../harness/server-events.ts";
import { TestFleet } from "../harness/test-fleet.ts";
import { TestServer } from "../harness/test-server.ts";
import { countingGit, watchesOf } from "./status-room.ts";

const run = promisify(execFile);
const isRoot = process.getuid?.() === 0;

type Lists = { readonly list: () => Promise<readonly SessionRecord[]> };

/** A server that counts its gits, with a client and the server events. */
async function counted(room: GitRoom, asProcess = false) {
  const { path, runs } = await countingGit(room);
  const env = { ...room.env, PATH: `${path}:${room.env.PATH}` };
  const server = await TestServer.start({ asProcess, env });
  const socket = server.connect();
  const events = ServerEvents.of({ watch: (listener) => socket.subscribeGlobal(listener) });
  await events.first(({ type }) => type === "connected");
  const client = server.client();
  const list = async (): Promise<readonly SessionRecord[]> => await client.list();
  return {
    ...{ server, client, events, list, runs },
    [Symbol.asyncDispose]: async (): Promise<void> => {
      await events[Symbol.asyncDispose]();
      socket[Symbol.dispose]();
      await server[Symbol.asyncDispose]();
    },
  };
}

/** The record of a session once it matches. */
async function record(
  { list }: Lists,
  id: string,
  fits: (one: SessionRecord) => boolean,
): Promise<SessionRecord> {
  return await eventually(
    async () => (await list()).find((one) => one.id === id && fits(one)),
    `session ${id} as it should be`,
  );
}

/** Reads the list whenever the server reports a change of the session, and only then, until it matches. */
async function toldOf(
  { list, events }: Lists & { readonly events: ServerEvents },
  id: string,
  fits: (one: SessionRecord) => boolean,
): Promise<SessionRecord> {
  for (let seen = 0; ; ) {
    const history = seen;
    await events.first((event) => event.sessionId === id && events.all.indexOf(event) >= history);
    seen = events.all.length;
    const found = (await list()).find((one) => one.id === id && fits(one));
    if (found !== undefined) return found;
  }
}

test("a branch switched in a session's shell is reported, and the list has it by then", async () => {
  await using room = await GitRoom.make();
  await using place = await counted(room);
  const repository = await room.repository();
  const { id } = await place.client.create({ command: ["sh"], cwd: join(repository, "folder") });
  expect(await toldOf(place, id, (one) => one.gitBranch === "main")).toMatchObject({
    ...{ gitRepoPath: repository, gitMainRepoPath: repository, gitIsWorktree: false, gitHasChanges: false },
  });
  await place.client.input(id, { text: "git switch -c typed\r" });
  expect(await toldOf(place, id, (one) => one.gitBranch === "typed")).toMatchObject({ id });
  await place.client.input(id, { text: "echo more >>b.txt\r" });
  expect(await toldOf(place, id, (one) => one.gitHasChanges === true)).toMatchObject({ gitBranch: "typed" });
  expect(await place.client.get(id)).toMatchObject({ gitBranch: "typed", gitHasChanges: true });
  // A session in a folder with known status has it at once.
  expect(await place.client.create({ command: ["cat"], cwd: join(repository, "folder") })).toMatchObject({
    gitBranch: "typed",
  });
});

test("two hundred lists start no git", async () => {
  await using room = await GitRoom.make();
  await using place = await counted(room);
  const { id } = await place.client.create({ command: ["cat"], cwd: await room.repository() });
  await toldOf(place, id, (one) => one.gitBranch === "main");
  const runs = await place.runs();
  for (let times = 0; times < 200; times++) await place.list();
  // The readings of the start, and one every 5 s while the lists take that long.
  expect((await place.runs()) - runs).toBeLessThan(100);
});

test("a session outside a repository has none of the fields", async () => {
  await using room = await GitRoom.make();
  await using place = await counted(room);
  const plain = await place.client.create({ command: ["cat"], cwd: room.path });
  const { id } = await place.client.create({ command: ["cat"], cwd: await room.repository() });
  await toldOf(place, id, (one) => one.gitBranch === "main");
  const found = await record(place, plain.id, () => true);
  expect(Object.keys(found).filter((name) => name.startsWith("git"))).toEqual([]);
});

test("with the last session nothing is watched; one that has ended keeps its branch, a restart included", async () => {
  await using room = await GitRoom.make();
  await using place = await counted(room, true);
  const watches = async (): Promise<number> => {
    const pids = await gitWorkers(place.server.controlDir);
    return (await Promise.all(pids.map(watchesOf))).reduce((sum, one) => sum + one, 0);
  };
  const { id } = await place.client.create({ command: ["sh"], cwd: await room.repository() });
  await toldOf(place, id, (one) => one.gitBranch === "main");
  expect(await watches()).toBeGreaterThan(0);
  await place.client.input(id, { text: "git switch -c last; exit\r" });
  await record(place, id, ({ status, gitBranch }) => status === "exited" && gitBranch === "last");
  await eventually(async () => (await watches()) === 0 || undefined, "no watch of a session that has ended");
  await place.server.restart();
  await record(place, id, ({ status, gitBranch }) => status === "exited" && gitBranch === "last");
  await place.client.remove(id);
  expect(await place.list()).toEqual([]);
});

test("a repository that is deleted takes its status along", async () => {
  await using room = await GitRoom.make();
  await using place = await counted(room);
  const repository = await room.repository();
  const { id } = await place.client.create({ command: ["cat"], cwd: repository });
  await toldOf(place, id, (one) => one.gitBranch === "main");
  await rm(join(repository, ".git"), { recursive: true });
  const found = await toldOf(place, id, (one) => one.gitRepoPath === undefined);
  expect(Object.keys(found).filter((name) => name.startsWith("git"))).toEqual([]);
});

test("an HQ has the status of its remotes' sessions, is told of changes, and asks no git itself", async () => {
  await using room = await GitRoom.make();
  await using fleet = await TestFleet.start({ asProcess: true });
  await using events = await fleet.events();
  const repository = await room.repository();
  const tree = await room.worktree(repository, "side");
  const { id } = await fleet.create("worker-1", { command: ["cat"], cwd: tree });
  const place = { list: () => fleet.sessions(), events };
  expect(await toldOf(place, id, (one) => one.gitBranch === "side")).toMatchObject({
    ...{ source: "worker-1", gitRepoPath: tree, gitMainRepoPath: repository, gitIsWorktree: true },
  });
  await room.git(tree, "switch", "--quiet", "-c", "other");
  expect(await toldOf(place, id, (one) => one.gitBranch === "other")).toMatchObject({ gitHasChanges: false });
  await room.append(join(tree, "a.txt"), "more\n");
  // Output makes the session's repository be checked: the program that wrote it may have edited a file.
  await fleet.ask(`/api/sessions/${id}/input`, { body: { text: "x\r" } });
  await toldOf(place, id, (one) => one.gitHasChanges === true);
  expect(await watchesOf(fleet.hq.pid)).toBe(0);
});

test("an HQ's own sessions have theirs", async () => {
  await using room = await GitRoom.make();
  await using fleet = await TestFleet.start({ remotes: 0, hqArgs: ["--hq-sessions"] });
  await using events = await fleet.events();
  const body = { remoteId: "local", command: ["cat"], cwd: await room.repository() };
  const { json } = await fleet.ask("/api/sessions", { body });
  const place = { list: () => fleet.sessions(), events };
  await toldOf(place, json.id, (one) => one.gitBranch === "main" && one.source === "local");
});

test.runIf(isRoot)("of a server that is root, git looks as the user whose session it is", async () => {
  await using room = await GitRoom.make();
  await run("chmod", ["755", room.path]);
  await using people = await People.make();
  await using server = await people.server();
  const one = Person.named(server, people.one);
  const [mine, roots] = [await room.repository("mine"), await room.repository("roots")];
  await run("chown", ["-R", people.one, mine]);
  const own = await one.start({ command: ["sh"], cwd: mine });
  // git does not trust a repository of another user, whoever runs the server.
  const other = await one.start({ command: ["cat"], cwd: roots });
  const place = { list: async () => (await one.ask("/api/sessions")).json };
  expect(await record(place, own.id, (found) => found.gitBranch !== undefined)).toMatchObject({
    ...{ gitRepoPath: mine, gitBranch: "main" },
  });
  await one.ask(`/api/sessions/${own.id}/input`, { body: { text: "git switch -c mine\r" } });
  await record(place, own.id, (found) => found.gitBranch === "mine");
  // The server's own user's view of it belongs to that user alone.
  const servers = Person.named(server, USERNAME);
  const theirs = await servers.start({ command: ["cat"], cwd: roots });
  const all = { list: async () => (await servers.ask("/api/sessions")).json };
  await record(all, theirs.id, (found) => found.gitBranch === "main");
  expect(await record(all, other.id, () => true)).not.toHaveProperty("gitBranch");
});
