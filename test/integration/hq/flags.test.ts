// The HQ aggregates subscription flags per session (specification 6.4): the union of its viewers' flags.
import { afterAll, beforeAll, expect, test } from "vitest";
import { eventually } from "../../../packages/testing/src/wait.ts";
import { FrameType } from "../../../src/protocol/frame/frame.ts";
import { SubscribeFlag } from "../../../src/protocol/frame/payload.ts";
import { RawSocket, textOf } from "../harness/raw-socket.ts";
import { RecordingProxy } from "../harness/recording-proxy.ts";
import { TestFleet } from "../harness/test-fleet.ts";

const { Stdout, Snapshots, Events, Offsets } = SubscribeFlag;

let fleet: TestFleet;
let proxy: RecordingProxy;
beforeAll(async () => {
  proxy = await RecordingProxy.open();
  fleet = await TestFleet.start({ remotes: 0 });
  const remote = await fleet.add("worker-1", { args: ["--remote-url", proxy.url] });
  proxy.target = remote.url;
  await fleet.joined("worker-1");
});
afterAll(async () => {
  await fleet[Symbol.asyncDispose]();
  await proxy[Symbol.asyncDispose]();
});

const open = (): Promise<RawSocket> => RawSocket.open(fleet.hq.url);
const run = async (script: string): Promise<string> =>
  (await fleet.create("worker-1", { command: ["sh", "-c", script] })).id;
const type = (id: string, text: string) => fleet.ask(`/api/sessions/${id}/input`, { body: { text } });
const outputOf = (id: string) =>
  proxy.answers.filter(
    ({ type: kind, sessionId }) =>
      sessionId === id && (kind === FrameType.OUTPUT || kind === FrameType.STDOUT),
  );
/** Resolves when this is the last upstream request for that session. */
const asked = (id: string, flags: number | undefined) =>
  eventually(async () => {
    const all = proxy.subscriptions(id);
    return (all.length > 0 && all.at(-1) === flags) || undefined;
  }, `flags ${flags}`);

test.each([
  ["a terminal", Stdout],
  ["a terminal with its events", Stdout | Events],
  ["a preview", Snapshots],
  ["events", Events],
  ["a preview with events", Snapshots | Events],
  ["all there is", Stdout | Snapshots | Events],
])("for %s the HQ subscribes with that and offsets", async (_, flags) => {
  const id = await run("echo ready; cat");
  await using viewer = await open();
  viewer.subscribe(id, { flags });
  await viewer.settled();
  expect(proxy.subscriptions(id)).toEqual([flags | Offsets]);
});

test("a preview shows the screen, each change of it and the end, and pulls no output", async () => {
  const id = await run("stty -echo; echo ready; read line; echo $line; read line; exit 3");
  await using viewer = await open();
  viewer.subscribe(id, { flags: Snapshots });
  await viewer.frame(FrameType.SNAPSHOT_VT);
  const has = (text: string) =>
    viewer.frame(FrameType.SNAPSHOT_VT, ({ payload }) => textOf(payload).includes(text));
  await type(id, "abcdefgh\n");
  await has("h");
  await type(id, "\n");
  expect(await viewer.event("exit")).toMatchObject({ exitCode: 3 });
  expect(outputOf(id)).toEqual([]);
});

test("events alone pull no output", async () => {
  const id = await run("stty -echo; echo ready; read line; exit 3");
  await using viewer = await open();
  viewer.subscribe(id, { flags: Events });
  await viewer.settled();
  await fleet.ask(`/api/sessions/${id}/resize`, { body: { cols: 132, rows: 43 } });
  expect(await viewer.event("resize")).toMatchObject({ cols: 132, rows: 43 });
  await type(id, "\n");
  expect(await viewer.event("exit")).toMatchObject({ exitCode: 3 });
  expect(outputOf(id)).toEqual([]);
});

test("a terminal without events is told the size of now", async () => {
  const id = await run("echo ready; cat");
  await using first = await open();
  first.subscribe(id, { flags: Stdout });
  await first.shows(/ready/);
  await fleet.ask(`/api/sessions/${id}/resize`, { body: { cols: 132, rows: 43 } });
  await using second = await open();
  second.subscribe(id, { flags: Stdout | Offsets });
  expect(await second.json(FrameType.SUBSCRIBED)).toMatchObject({ cols: 132, rows: 43 });
  expect(proxy.subscriptions(id)).toEqual([Stdout | Offsets]);
});

test("as viewers come and go the HQ asks for what they want together, and nobody misses or repeats a byte", async () => {
  const id = await run("stty -echo; echo 0; while read line; do echo $line; done");
  await using staying = await open();
  staying.subscribe(id, { flags: Snapshots });
  await staying.frame(FrameType.SNAPSHOT_VT);
  expect(proxy.subscriptions(id)).toEqual([Snapshots | Offsets]);
  // Earlier input would be echoed.
  const printed = async () => (await fleet.ask(`/api/sessions/${id}/output`)).text === "0\r\n" || undefined;
  await eventually(printed, "the first line");
  let expected = "0\r\n";
  let number = 0;
  const print = async (): Promise<void> => {
    number += 1;
    await type(id, `${number}\n`);
    expected += `${number}\r\n`;
  };
  const exactly = (viewer: RawSocket, text: string) =>
    viewer.until(() => textOf(viewer.output(id)) === text || undefined, JSON.stringify(text));
  await print();
  await using terminal = await open();
  terminal.subscribe(id, { flags: Stdout });
  await exactly(terminal, expected);
  await asked(id, Stdout | Snapshots | Offsets);
  await print();
  {
    await using another = await open();
    another.subscribe(id, { flags: Stdout | Events | Offsets, from: 0 });
    await print();
    await exactly(another, expected);
    await asked(id, Stdout | Snapshots | Events | Offsets);
    await print();
    await exactly(another, expected);
  }
  await asked(id, Stdout | Snapshots | Offsets);
  await print();
  await exactly(terminal, expected);
  terminal.send(FrameType.UNSUBSCRIBE, id);
  await asked(id, Snapshots | Offsets);
  const before = outputOf(id).length;
  await print();
  await using late = await open();
  late.subscribe(id, { flags: Stdout | Offsets, from: 3 });
  await exactly(late, expected.slice(3));
  expect(before).toBeGreaterThan(0);
  expect(late.of(FrameType.RESYNC)).toEqual([]);
  for (const viewer of [staying, late]) viewer.send(FrameType.UNSUBSCRIBE, id);
  await asked(id, undefined);
});

test("of an ended session a preview and a terminal are told the end once, whoever comes first", async () => {
  const id = await run("stty -echo; echo ready; read line; exit 3");
  await using preview = await open();
  preview.subscribe(id, { flags: Snapshots });
  await preview.frame(FrameType.SNAPSHOT_VT);
  await type(id, "\n");
  await preview.event("exit");
  await using terminal = await open();
  terminal.subscribe(id, { flags: Stdout | Offsets, from: 0 });
  await terminal.event("exit");
  await terminal.settled();
  await preview.settled();
  expect(textOf(terminal.output(id))).toContain("ready\r\n");
  for (const viewer of [preview, terminal]) {
    expect(viewer.jsons(FrameType.EVENT, id).filter(({ kind }) => kind === "exit")).toHaveLength(1);
  }
});
