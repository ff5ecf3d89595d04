// Facts 1.8 and 1.9: events about the work in a session, on a server and through an HQ.
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { GitRoom } from "../harness/git-repository.ts";
import { TestFleet } from "../harness/test-fleet.ts";
import { VibeTunnelClient } from "../harness/vibetunnel-client.ts";

/** Stdout and Events, like the web's terminal; Stdout alone. */
const WEB = 5;
const DEAF = 1;
const GLOBAL = 4;

let fleet: TestFleet;
beforeAll(async () => {
  fleet = await TestFleet.start({ hqArgs: ["--hq-sessions"] });
});
afterAll(async () => {
  await fleet[Symbol.asyncDispose]();
});

/** A session of the HQ itself, and one of its remote. */
async function start(place: string, command: readonly string[], cwd = "/tmp"): Promise<string> {
  const remoteId = place === "local" ? place : (await fleet.record(place)).id;
  const answer = await fleet.ask("/api/sessions", { body: { remoteId, command, cwd } });
  return Object(answer.json).id;
}

describe.each(["local", "worker-1"])("of a session of %s", (place) => {
  test("git-status-update tells viewers with the Events flag the counts, at once and whenever one changes", async () => {
    await using room = await GitRoom.make();
    const repository = await room.repository();
    const id = await start(place, ["cat"], repository);
    await using viewer = await VibeTunnelClient.open(fleet.hq.url);
    await using deaf = await VibeTunnelClient.open(fleet.hq.url);
    const updates = (client = viewer) => client.events(id).filter(({ type }) => type === "git-status-update");
    const counts = { gitModifiedCount: 0, gitAddedCount: 0, gitDeletedCount: 0 };
    const upstream = { gitAheadCount: 0, gitBehindCount: 0 };
    deaf.subscribe(id, DEAF);
    viewer.subscribe(id, WEB);
    await viewer.until(() => updates().length > 0);
    const none = { type: "git-status-update", sessionId: id, ...counts, ...upstream };
    expect(updates()[0]).toMatchObject(none);
    await room.append(join(repository, "a.txt"), "more\n");
    await viewer.until(() => updates().at(-1)?.gitModifiedCount === 1);
    await room.write(join(repository, "new.txt"), "x\n");
    await viewer.until(() => updates().at(-1)?.gitAddedCount === 1);
    expect(updates().at(-1)).toMatchObject({ ...none, gitModifiedCount: 1, gitAddedCount: 1 });
    await using later = await VibeTunnelClient.open(fleet.hq.url);
    later.subscribe(id, WEB);
    await later.until(() => updates(later).length > 0);
    expect(updates(later)).toEqual([updates().at(-1)]);
    const texts = updates().map((update) => JSON.stringify(update));
    expect(new Set(texts).size).toBe(texts.length);
    deaf.ping();
    await deaf.until(() => deaf.of("PONG").length > 0);
    expect(updates(deaf)).toEqual([]);
  });

  test("command-finished tells the global channel of a command of 3 s and more, by the foreground process group", async () => {
    await using client = await VibeTunnelClient.open(fleet.hq.url);
    client.subscribe("", GLOBAL);
    await client.until(() => client.events("").length > 0);
    const id = await start(place, ["env", "PS1=> ", "bash", "--norc", "-i"]);
    client.subscribe(id, WEB);
    const prompts = (): number => client.text(id).split("> ").length - 1;
    await client.until(() => prompts() === 1);
    client.type(id, "sleep 0.1\n");
    await client.until(() => prompts() === 2);
    // Its own output has the server look at it: a busy shell may start it long after the echo of its line.
    client.type(id, "sh -c 'echo begun; sleep 4'\n");
    const finished = () => client.events(id).filter(({ type }) => type === "command-finished");
    await client.until(() => finished().length > 0);
    expect(finished()).toEqual([
      expect.objectContaining({ sessionId: id, command: "sh -c echo begun; sleep 4", exitCode: 0 }),
    ]);
    expect(finished()[0]).toMatchObject({ sessionName: expect.any(String), timestamp: expect.any(String) });
    expect(Number(finished()[0]?.duration)).toBeGreaterThanOrEqual(3_000);
    client.kill(id, "SIGKILL");
  });

  test("command-finished has the exit code that the shell's integration tells (OSC 133)", async () => {
    await using client = await VibeTunnelClient.open(fleet.hq.url);
    client.subscribe("", GLOBAL);
    await client.until(() => client.events("").length > 0);
    const marks = (text: string): string => `printf '\\033]133;${text}\\007'`;
    const script = [marks("A"), marks("C"), "sleep 4", marks("D;7"), marks("C"), marks("D;1"), "read line"];
    const id = await start(place, ["sh", "-c", script.join(";")]);
    const finished = () => client.events(id).filter(({ type }) => type === "command-finished");
    await client.until(() => finished().length > 0);
    expect(finished()).toEqual([expect.objectContaining({ sessionId: id, exitCode: 7 })]);
    expect(Number(finished()[0]?.duration)).toBeGreaterThanOrEqual(3_000);
  });
});

test("waiting-for-input reports a quiet program that reads the terminal, and program-notification a program's message", async () => {
  await using client = await VibeTunnelClient.open(fleet.hq.url);
  client.subscribe("", GLOBAL);
  await client.until(() => client.events("").length > 0);
  const notify = "printf '\\033]777;notify;make;done\\007'; read answer";
  const [speaking, local, remote] = await Promise.all([
    start("local", ["sh", "-c", notify]),
    start("local", ["sh", "-c", "sleep 3.2; echo 'Go on?'; read answer"]),
    // It waits for events, one of which is input.
    start("worker-1", [
      process.execPath,
      "-e",
      "setTimeout(() => { console.log('Go on?'); process.stdin.resume(); }, 3_200)",
    ]),
  ]);
  const isWaiting = (id: string) => client.events(id).some(({ type }) => type === "waiting-for-input");
  await client.until(() => isWaiting(local) && isWaiting(remote));
  expect(client.events(speaking).filter(({ type }) => type === "program-notification")).toEqual([
    expect.objectContaining({ sessionId: speaking, title: "make", body: "done" }),
  ]);
});
