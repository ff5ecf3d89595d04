// Remotes that know the specification alone, behind our HQ (contract 10.5).
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { FrameType } from "../../../src/protocol/frame/frame.ts";
import { decodeResync, SubscribeFlag } from "../../../src/protocol/frame/payload.ts";
import { SpecRemote } from "../fixtures/spec-remote.ts";
import { RawSocket, textOf } from "../harness/raw-socket.ts";
import { basic, TestFleet } from "../harness/test-fleet.ts";

const { Stdout, Snapshots, Events, Offsets } = SubscribeFlag;
const SCRIPT = 'stty -echo; echo ready; while read line; do echo "<$line>"; stty size; done; exit 7';

describe("a remote that knows the specification alone", () => {
  let fleet: TestFleet;
  let remote: SpecRemote;
  beforeAll(async () => {
    fleet = await TestFleet.start({ remotes: 0 });
    remote = await SpecRemote.open();
    expect(await remote.register(fleet.hq.url, "other", basic())).toBe(200);
  });
  afterAll(async () => {
    await fleet[Symbol.asyncDispose]();
    await remote[Symbol.asyncDispose]();
  });

  const run = () => fleet.create("other", { command: ["sh", "-c", SCRIPT], name: "mine" });
  const at = (id: string, what: string, body?: object) =>
    fleet.ask(`/api/sessions/${id}${what}`, body && { body });

  test("is asked once for what its viewers want together, and for no offsets", async () => {
    const { id } = await run();
    await using first = await RawSocket.open(fleet.hq.url);
    await using second = await RawSocket.open(fleet.hq.url);
    first.subscribe(id, { flags: Stdout | Events });
    await first.settled();
    second.subscribe(id, { flags: Stdout | Offsets, from: 0 });
    await second.settled();
    const subscribes = remote.subscribes.filter((each) => each.id === id);
    expect(subscribes).toEqual([{ id, flags: Stdout | Events, length: 12 }]);
  });

  test("is asked for screens alone by a preview, and sends no output", async () => {
    const { id } = await run();
    await using preview = await RawSocket.open(fleet.hq.url);
    preview.subscribe(id, { flags: Snapshots });
    await preview.settled();
    expect((await at(id, "/input", { text: "unseen\n" })).status).toBe(200);
    await preview.settled();
    expect(remote.subscribes.filter((each) => each.id === id)).toEqual([
      { id, flags: Snapshots, length: 12 },
    ]);
    expect(preview.outputBytes).toBe(0);
  });

  test("announces what a cut may have lost with RESYNC, and goes on", async () => {
    const { id } = await run();
    await using viewer = await RawSocket.open(fleet.hq.url);
    await using old = await RawSocket.open(fleet.hq.url);
    viewer.subscribe(id, { flags: Stdout | Offsets, from: 0 });
    old.subscribe(id, { flags: Stdout });
    for (const each of [viewer, old]) await each.settled();
    viewer.type(id, "before\n");
    for (const each of [viewer, old]) await each.shows(/<before>/);
    remote.cut();
    const { payload } = await viewer.frame(FrameType.RESYNC);
    expect(textOf(decodeResync(payload).bytes)).toContain("output before this may be missing");
    await old.shows(/output before this may be missing/);
    expect(textOf(old.output(id))).toContain("\u001bc");
    expect((await at(id, "/input", { text: "after\n" })).status).toBe(200);
    for (const each of [viewer, old]) await each.shows(/<after>/);

    await using back = await RawSocket.open(fleet.hq.url);
    back.subscribe(id, { flags: Stdout | Offsets, from: 5 });
    await back.frame(FrameType.RESYNC);
    await back.shows(/<after>/);
  });
});
