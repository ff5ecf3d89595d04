// /ws of an HQ: many viewers of a remote's sessions over one socket to that remote (contract 6.7).
import { createHash } from "node:crypto";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { FrameType } from "../../../src/protocol/frame/frame.ts";
import { SubscribeFlag } from "../../../src/protocol/frame/payload.ts";
import type { SessionRecord } from "../../../src/protocol/schemas/session.ts";
import { RawSocket, textOf } from "../harness/raw-socket.ts";
import { Rest } from "../harness/rest.ts";
import { metric, TestFleet } from "../harness/test-fleet.ts";
import { oldScreenText, VibeTunnelClient } from "../harness/vibetunnel-client.ts";

const { Stdout, Snapshots, Events, Offsets } = SubscribeFlag;
/** With offsets and without: both get the whole history of a short session. */
const WAYS = [{ flags: Stdout }, { flags: Stdout | Offsets, from: 0 }] as const;

let fleet: TestFleet;
beforeAll(async () => {
  fleet = await TestFleet.start({ remotes: 2 });
});
afterAll(async () => {
  await fleet[Symbol.asyncDispose]();
});

const run = (script: string, name = "worker-1"): Promise<SessionRecord> =>
  fleet.create(name, { command: ["sh", "-c", script] });
const open = (): Promise<RawSocket> => RawSocket.open(fleet.hq.url);
const has = (viewer: RawSocket, id: string, text: string): Promise<boolean> =>
  viewer.until(() => textOf(viewer.output(id)) === text || undefined, `exactly ${JSON.stringify(text)}`);

describe("however many viewers", () => {
  test("a remote has one client, and the HQ one uplink for each remote", async () => {
    const first = await run("echo ready; cat");
    const all = [first, await run("echo ready; cat"), await run("echo ready; cat", "worker-2")];
    await using stack = new AsyncDisposableStack();
    const viewers = (await Promise.all(Array.from({ length: 30 }, open))).map((viewer) => stack.use(viewer));
    for (const [index, viewer] of viewers.entries()) {
      for (const { id } of all) viewer.subscribe(id, WAYS[index % 2] ?? WAYS[0]);
    }
    for (const viewer of viewers) for (const { id } of all) await has(viewer, id, "ready\r\n");
    const clients = ["worker-1", "worker-2"].map((name) => metric(fleet.remote(name), "ttyhq_clients"));
    expect(await Promise.all(clients)).toEqual([1, 1]);
    expect(await metric(fleet.hq, "ttyhq_uplinks")).toBe(2);
    expect(await metric(fleet.hq, "ttyhq_remotes")).toBe(2);
    expect(await metric(fleet.hq, "ttyhq_clients")).toBe(30);
    expect((await fleet.ask(`/api/sessions/${first.id}`)).json.viewers).toBe(30);
    // A keystroke comes back to each of them, once.
    viewers[0]?.type(first.id, "x\n");
    for (const viewer of viewers) await has(viewer, first.id, "ready\r\nx\r\nx\r\n");
    for (const viewer of viewers) for (const { id } of all.slice(1)) await has(viewer, id, "ready\r\n");
  });

  test("a late one gets its own history, and nobody else anything again", async () => {
    const { id } = await run("echo one; read line; echo two; cat");
    await using early = await open();
    early.subscribe(id, { flags: Stdout });
    await has(early, id, "one\r\n");
    early.type(id, "go\n");
    await has(early, id, "one\r\ngo\r\ntwo\r\n");
    for (const way of WAYS) {
      await using late = await open();
      late.subscribe(id, way);
      await has(late, id, "one\r\ngo\r\ntwo\r\n");
    }
    await early.settled();
    await has(early, id, "one\r\ngo\r\ntwo\r\n");
  });

  test("one that adds a flag disturbs nobody, itself included", async () => {
    const { id } = await run("echo ready; cat");
    await using changing = await open();
    await using other = await open();
    for (const viewer of [changing, other]) viewer.subscribe(id, { flags: Stdout });
    for (const viewer of [changing, other]) await has(viewer, id, "ready\r\n");
    for (const flags of [Stdout | Events, Stdout | Events | Snapshots]) {
      changing.subscribe(id, { flags });
      await changing.settled();
    }
    await changing.frame(FrameType.SNAPSHOT_VT);
    changing.type(id, "x\n");
    for (const viewer of [changing, other]) await has(viewer, id, "ready\r\nx\r\nx\r\n");
    await other.settled();
    expect([...other.of(FrameType.SNAPSHOT_VT), ...other.of(FrameType.EVENT)]).toEqual([]);
  });

  test("one that leaves takes nothing from the others, and the last one to leave ends the subscription", async () => {
    const { id } = await run("echo ready; cat");
    await using staying = await open();
    {
      await using leaving = await open();
      for (const viewer of [leaving, staying]) viewer.subscribe(id, { flags: Stdout });
      for (const viewer of [leaving, staying]) await has(viewer, id, "ready\r\n");
    }
    staying.type(id, "x\n");
    await has(staying, id, "ready\r\nx\r\nx\r\n");
    staying.send(FrameType.UNSUBSCRIBE, id);
    await staying.settled();
    expect((await fleet.ask(`/api/sessions/${id}`)).json.viewers).toBe(0);
  });

  test("each gets the exit after the last byte, a resize, and what happens at large", async () => {
    const { id } = await run("stty -echo; echo ready; read line; stty size; exit 7");
    await using viewer = await open();
    await using watcher = await open();
    viewer.subscribe(id, { flags: Stdout | Events });
    watcher.subscribe("", { flags: Events });
    await has(viewer, id, "ready\r\n");
    await viewer.event("header");
    viewer.send(FrameType.RESIZE, id, Uint8Array.of(132, 0, 0, 0, 43, 0, 0, 0));
    const resize = await viewer.json(FrameType.EVENT, ({ dimensions }) => dimensions === "132x43");
    expect(resize).toMatchObject({ kind: "resize", cols: 132, rows: 43 });
    viewer.type(id, "\n");
    expect(await viewer.event("exit")).toMatchObject({ type: "session-exit", sessionId: id, exitCode: 7 });
    expect(textOf(viewer.output(id))).toBe("ready\r\n43 132\r\n");
    expect(viewer.frames.at(-1)?.type).toBe(FrameType.EVENT);
    const told = await watcher.json(FrameType.EVENT, ({ type }) => type === "session-exit");
    expect(told).toMatchObject({ sessionId: id, exitCode: 7, remoteName: "worker-1" });
  });
});

describe("what is typed", () => {
  test("arrives in order, whoever types, with nothing lost or doubled", async () => {
    const { id } = await run("stty raw -echo; echo ready; head -c 20000 | tr -d '\\n' | md5sum; cat");
    const keys = Array.from({ length: 20_000 }, (_, index) =>
      String.fromCharCode(97 + ((index * 7) % 26)),
    ).join("");
    await using viewer = await open();
    viewer.subscribe(id, { flags: Stdout });
    await viewer.shows(/ready/);
    for (const key of keys) viewer.type(id, key);
    await viewer.shows(new RegExp(createHash("md5").update(keys).digest("hex")));
    expect(viewer.of(FrameType.ERROR)).toEqual([]);
  });

  test("arrives in order also at a session that the HQ does not know yet", async () => {
    await using own = await TestFleet.start({ remotes: 2 });
    const { id } = await own.create("worker-2", { command: ["sh", "-c", "stty raw -echo; echo ready; cat"] });
    await new Rest(own.hq).shows(id, /ready/);
    await own.hq.restart();
    await using viewer = await RawSocket.open(own.hq.url);
    const keys = Array.from({ length: 200 }, (_, index) => `${index},`);
    for (const key of keys) viewer.type(id, key);
    viewer.subscribe(id, { flags: Stdout });
    await viewer.until(() => textOf(viewer.output(id)).endsWith(`${keys.join("")}`) || undefined, "all keys");
    expect(viewer.of(FrameType.ERROR)).toEqual([]);
  });

  test("for nobody, or an ended session, is refused", async () => {
    const { id } = await run("exit 0");
    await using viewer = await open();
    viewer.subscribe(id, { flags: Stdout });
    await viewer.event("exit");
    viewer.type(id, "x");
    expect(await viewer.errorCode()).toBe("session_not_running");
    viewer.type("nobody", "x");
    viewer.subscribe("nobody", { flags: Stdout });
    expect([await viewer.errorCode(), await viewer.errorCode()]).toEqual([
      "session_not_found",
      "session_not_found",
    ]);
  });
});

test("a VibeTunnel v3 client needs no change: terminal, previews, global channel, keys and the end", async () => {
  const { id } = await run(
    "stty -echo; printf 'before \\342\\202\\254\\n'; read a; stty size; read b; exit 3",
  );
  await using client = await VibeTunnelClient.open(fleet.hq.url);
  client.subscribe("", 4);
  client.subscribe(id, 5);
  await client.until(() => client.text(id) === "before €\r\n");
  expect(client.events(id)[0]).toMatchObject({
    kind: "header",
    header: { version: 2, width: 80, height: 24 },
  });
  await using preview = await VibeTunnelClient.open(fleet.hq.url);
  preview.subscribe(id, 2);
  await preview.until(() => oldScreenText(preview.screen(id)).startsWith("before €"));
  client.resize(id, 132, 43);
  await client.until(() => client.events(id).some(({ dimensions }) => dimensions === "132x43"));
  client.press(id, "enter");
  await client.until(() => client.text(id) === "before €\r\n43 132\r\n");
  await preview.until(() => preview.screen(id)?.cols === 132);
  client.type(id, "\n");
  await client.until(() => client.exitCode(id) === 3);
  const told = (): boolean =>
    client
      .events("")
      .concat(client.events(id))
      .some(({ type, timestamp }) => type === "session-exit" && timestamp !== undefined);
  await client.until(told);
  expect(client.dropped).toBeLessThanOrEqual(1);
});
