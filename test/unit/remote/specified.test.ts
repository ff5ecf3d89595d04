import { describe, expect, test } from "vitest";
import { createCaller } from "../../../src/protocol/client/caller.ts";
import type { LinkHandlers } from "../../../src/protocol/client/link.ts";
import { endpoints } from "../../../src/protocol/endpoints/endpoints.ts";
import { ServiceError } from "../../../src/protocol/errors.ts";
import { decodeFrame, encodeFrame, FrameType } from "../../../src/protocol/frame/frame.ts";
import { encodeJson, encodeSubscribe, SubscribeFlag } from "../../../src/protocol/frame/payload.ts";
import { MAX_COMMAND_WORDS } from "../../../src/protocol/limits.ts";
import { CreateSession } from "../../../src/protocol/schemas/session.ts";
import { AnySession, readSessions } from "../../../src/remote/specified/session-record.ts";
import { SpecifiedLink } from "../../../src/remote/specified/specified-link.ts";
import { SpecifiedRemote } from "../../../src/remote/specified/specified-remote.ts";
import { until } from "../until.ts";

const CREATED = "2026-01-01T00:00:00.000Z";

describe("a session record", () => {
  test.each<[string, object, object]>([
    [
      "of the specification",
      { id: "s", name: "n", created: CREATED, status: "running", pid: 7 },
      { sessionId: "s", startedAt: CREATED, pid: 7, command: [], cols: 80, rows: 24, outputBytes: 0 },
    ],
    [
      "of VibeTunnel",
      {
        id: "s",
        startedAt: CREATED,
        workingDir: "/tmp",
        command: ["sh"],
        status: "exited",
        initialCols: 100,
      },
      { created: CREATED, cwd: "/tmp", command: ["sh"], status: "exited", cols: 100, rows: 24, name: "s" },
    ],
    [
      "with separate command and arguments",
      { id: "s", command: "ls", args: ["-l"] },
      { command: ["ls", "-l"] },
    ],
    ["with an unknown status", { id: "s", status: "zombie" }, { status: "exited" }],
    ["with members of other types", { id: "s", pid: "7", cols: {}, gitBranch: 3 }, { cols: 80 }],
  ])("%s is completed", (_, given, expected) => {
    expect(AnySession.parse(given)).toMatchObject(expected);
  });

  test("that no client would read in a list is left out", async () => {
    const args = Array.from({ length: 2 * MAX_COMMAND_WORDS }, () => "x");
    const records = await readSessions([
      { id: "long", command: "echo", args },
      { id: "s", command: "ls" },
    ]);
    expect(endpoints.listSessions.reply.json.safeParse(records).success).toBe(true);
    expect(records.map(({ id }) => id)).toEqual(["s"]);
  });

  test("without an id is left out, and no other is", async () => {
    expect((await readSessions([{ name: "n" }, 3, { id: "s" }])).map(({ id }) => id)).toEqual(["s"]);
  });

  test("with millions of wrong words is read without them", async () => {
    let reads = 0;
    const words = new Proxy(new Array(1_000_000).fill(0), {
      get: (target, name) => {
        reads += 1;
        return Reflect.get(target, name);
      },
    });
    expect(await readSessions([{ id: "s", command: words, args: words }])).toMatchObject([{ command: [] }]);
    expect(reads).toBeLessThan(1_000);
  });

  test("does not delay other work when there are very many", async () => {
    const stop = new AbortController();
    const records = readSessions(Array(1_000_000).fill({}), stop.signal);
    const other = new Promise((resolve) => setImmediate(() => resolve("other work")));
    expect(await Promise.race([records, other])).toBe("other work");
    stop.abort();
    await expect(records).rejects.toThrow("abort");
  });
});

test("a session with an owner is refused for a remote without owners, and no request is sent", async () => {
  const nobody = async () => {
    throw new Error("it was asked");
  };
  const remote = new SpecifiedRemote({
    caller: createCaller(nobody),
    ...{ socket: { write: nobody, resize: nobody, caughtUp: nobody } },
    sessions: { get: nobody, all: () => [], caughtUp: nobody },
  });
  const request = CreateSession.parse({ command: ["sh"], owner: "somebody" });
  await expect(remote.create(request)).rejects.toMatchObject({ code: "forbidden" });
});

test("the size that a session was given counts until its record changes, or the session is removed", async () => {
  const record = AnySession.parse({ id: "s", status: "running" });
  const done = async () => {};
  const remote = new SpecifiedRemote({
    caller: createCaller(async () => {
      throw new Error("input and sizes go over the socket");
    }),
    ...{ socket: { write: done, resize: done, caughtUp: done } },
    sessions: { get: async () => record, all: () => [record], caughtUp: done },
  });
  const sizeOf = (given: object): readonly number[] => {
    const { cols, rows } = remote.sized({ ...record, ...given });
    return [cols, rows];
  };
  expect(sizeOf({})).toEqual([80, 24]);
  await remote.resize("s", { cols: 132, rows: 43 });
  expect([sizeOf({}), sizeOf({})]).toEqual([
    [132, 43],
    [132, 43],
  ]);
  expect(sizeOf({ cols: 100, rows: 30 })).toEqual([100, 30]);
  expect(sizeOf({})).toEqual([80, 24]);
  await remote.resize("s", { cols: 132, rows: 43 });
  remote.forget("s");
  expect(sizeOf({})).toEqual([80, 24]);
});

/** A link to a remote with one session, of which the HQ knows `given`. */
async function linkTo(given: object) {
  const record = AnySession.parse({ id: "s", status: "running", ...given });
  const types: number[] = [];
  const sent: number[] = [];
  const resized: string[] = [];
  let arrival = Promise.resolve();
  let lists = 0;
  let remote: LinkHandlers | undefined;
  const link = await SpecifiedLink.open(
    async (handlers) => {
      remote = handlers;
      const send = (message: Uint8Array): void => void sent.push(decodeFrame(message).type);
      return { send, close: () => {}, bufferedBytes: 0 };
    },
    { onMessage: (message) => void types.push(decodeFrame(message).type), onClose: () => {} },
    {
      sessions: { get: async () => record, all: () => [record], caughtUp: async () => void lists++ },
      arrived: () => arrival,
      onResized: (id) => void resized.push(id),
    },
  );
  const flags = SubscribeFlag.Stdout | SubscribeFlag.Offsets;
  return {
    ...{ types, sent, resized, lists: () => lists, [Symbol.dispose]: () => link.close() },
    subscribe: (from: number) =>
      link.send(encodeFrame(FrameType.SUBSCRIBE, "s", encodeSubscribe({ flags, from }))),
    receive: (event: object, id = "s") =>
      remote?.onMessage(encodeFrame(FrameType.EVENT, id, encodeJson(event))),
    output: (text: string) => remote?.onMessage(encodeFrame(FrameType.STDOUT, "s", Buffer.from(text))),
    /** From now on frames of the remote take until the promise resolves. */
    delay: (until: Promise<void>) => {
      arrival = until;
    },
  };
}

test("input that a starting session refuses is refused with the remote's own reason", async () => {
  const record = AnySession.parse({ id: "s", status: "starting" });
  const refuse = async () => {
    throw new ServiceError("internal_error", "not yet");
  };
  const remote = new SpecifiedRemote({
    caller: createCaller(refuse),
    ...{ socket: { write: refuse, resize: refuse, caughtUp: refuse } },
    sessions: { get: async () => record, all: () => [record], caughtUp: async () => {} },
  });
  await expect(remote.write("s", new Uint8Array(1))).rejects.toThrow("not yet");
});

describe("the link to a remote", () => {
  test.each([
    { cols: 0, rows: 24 },
    { cols: 80, rows: 5_000 },
    { initialCols: -1, initialRows: 2 ** 40 },
  ])("resumes a session of the impossible size %j", async (size) => {
    using link = await linkTo(size);
    link.subscribe(5);
    await until(() => link.types.includes(FrameType.RESYNC));
  });

  test("ends no session that is still starting", async () => {
    using link = await linkTo({ status: "starting" });
    link.subscribe(0);
    await until(() => link.lists() === 3);
    expect(link.types).not.toContain(FrameType.EVENT);
  });

  test("subscribes again only when the output of the former subscription has arrived, which it drops", async () => {
    using link = await linkTo({});
    link.subscribe(0);
    await until(() => link.sent.length === 1);
    link.output("one");
    const arrived = Promise.withResolvers<void>();
    link.delay(arrived.promise);
    link.subscribe(4);
    await new Promise(setImmediate);
    link.output("on its way");
    expect(link.sent).toEqual([FrameType.SUBSCRIBE, FrameType.UNSUBSCRIBE]);
    arrived.resolve();
    await until(() => link.sent.length === 3);
    link.output("on its way, and more");
    const { SUBSCRIBED, RESYNC, OUTPUT } = FrameType;
    expect(link.sent.at(-1)).toBe(FrameType.SUBSCRIBE);
    expect(link.types).toEqual([SUBSCRIBED, RESYNC, OUTPUT, SUBSCRIBED, RESYNC, OUTPUT]);
  });

  test("reports an exit that comes while it subscribes again", async () => {
    using link = await linkTo({ status: "exited" });
    link.subscribe(0);
    await until(() => link.sent.length === 1);
    const arrived = Promise.withResolvers<void>();
    link.delay(arrived.promise);
    link.subscribe(1);
    link.receive({ kind: "exit", exitCode: 0 });
    arrived.resolve();
    await until(() => link.sent.length === 3);
    const { SUBSCRIBED, EVENT } = FrameType;
    await until(() => link.types.lastIndexOf(EVENT) > link.types.lastIndexOf(SUBSCRIBED));
  });

  test("lists the sessions after an exit as well, as long as it is subscribed", async () => {
    using link = await linkTo({});
    link.subscribe(0);
    await until(() => link.sent.length === 1);
    link.receive({ kind: "exit", exitCode: 0 });
    const before = link.lists();
    await until(() => link.lists() > before);
  });

  test("takes resizes of subscribed sessions alone, and of any shape", async () => {
    using link = await linkTo({});
    link.subscribe(0);
    await until(() => link.types.includes(FrameType.SUBSCRIBED));
    for (const id of ["s", "unknown"]) link.receive({ kind: "resize", dimensions: "90x30" }, id);
    link.receive({ kind: "resize", dimensions: { toString: 1 } });
    expect(link.resized).toEqual(["s"]);
  });
});
