// A share link's guest sees the screen, and nothing else of the session, by every endpoint and frame.
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { eventually } from "../../../packages/testing/src/wait.ts";
import { concatBytes } from "../../../src/lib/data/collect.ts";
import { FrameType } from "../../../src/protocol/frame/frame.ts";
import { type Subscribe, SubscribeFlag } from "../../../src/protocol/frame/payload.ts";
import type { SessionRecord } from "../../../src/protocol/schemas/session.ts";
import { NewShare } from "../../../src/protocol/schemas/share.ts";
import { logIn } from "../harness/password-server.ts";
import { People, Person } from "../harness/people.ts";
import type { TestServer } from "../harness/test-server.ts";

const { Stdout, Snapshots, Events, Offsets } = SubscribeFlag;
/** Every way to subscribe to output over /ws. */
const SUBSCRIPTIONS: readonly { readonly flags: number; readonly from?: Subscribe["from"] }[] = [
  { flags: Stdout | Events },
  { flags: Stdout | Events | Offsets },
  { flags: Stdout | Events | Offsets, from: 0 },
  { flags: Stdout | Events | Offsets, from: 1 },
  { flags: Stdout | Events | Offsets, from: "live" },
  { flags: Snapshots | Events | Offsets, from: 0 },
];
const VIEWS = [
  ...["", "/text", "/text?scrollback=1&styles=1", "/buffer", "/resync", "/resync?scrollback=1"],
  ...[
    "/recording?follow=0",
    "/output",
    "/output?from=0",
    "/output?from=1&to=60",
    "/events",
    "/events?from=0",
  ],
];
/** Only for an ended session: it lasts as long as the session runs. */
const STREAMS = ["/recording", "/recording?follow=1", "/stream", "/stream?after=1"];
/** All members of a session's record for a guest. */
const TOLD = [
  ...[
    "access",
    "cols",
    "command",
    "created",
    "cwd",
    "exitCode",
    "exitReason",
    "exitSignal",
    "exitedAt",
    "id",
    "initialCols",
    "initialRows",
    "key",
  ],
  ...["lastModified", "lostBytes", "name", "outputBytes", "recording", "rows", "sessionId", "startedAt"],
  ...["status", "title", "viewers", "workingDir"],
];
/** Fills the scrollback, sets the screen behind the alternate one, and then shows a screen with neither. */
const SCRIPT = [
  "stty -echo",
  "for i in $(seq 60); do echo scrolled-canary-$i; done",
  "printf '\\033[2J\\033[Hbehind-canary\\033[?1049h\\033[2J\\033[Hon-screen\\n'",
  "read -r typed; printf 'later-%s\\n' shown; read -r typed; : hidden-argument",
].join("; ");

let people: People;
let hq: TestServer;
let worker: TestServer;
let admin: Person;

beforeAll(async () => {
  people = await People.make();
  hq = await people.server({ args: ["--hq", "--no-hq-auth", "--hq-sessions", "--record-input"] });
  const to = ["--hq-url", hq.url, "--allow-insecure-hq", "--no-hq-auth", "--name", "worker"];
  worker = await people.server({ args: [...to, "--record-input"] });
  admin = new Person(hq, await logIn(hq));
  await eventually(async () => (await remoteId()) ?? undefined, "the remote");
});
afterAll(async () => {
  await worker[Symbol.asyncDispose]();
  await hq[Symbol.asyncDispose]();
  await people[Symbol.asyncDispose]();
});

async function remoteId(): Promise<string | undefined> {
  return (await admin.ask("/api/remotes")).json[0]?.id;
}

/** Everything that a guest can request, and all frames of `/ws`. */
async function sightOf(guest: Person, { id }: SessionRecord, views = VIEWS): Promise<string> {
  const answers = await Promise.all(views.map((view) => guest.ask(`/api/sessions/${id}${view}`)));
  const list = await guest.ask("/api/sessions");
  const frames: Uint8Array[] = [];
  for (const request of SUBSCRIPTIONS) {
    await using socket = await guest.connect();
    socket.subscribe("", { flags: Events });
    socket.subscribe(id, request);
    await socket.settled();
    if ((request.flags & Stdout) === 0) await socket.frame(FrameType.SNAPSHOT_VT);
    else if (request.from !== "live") await socket.until(() => drawn(socket.frames), "the screen");
    frames.push(...socket.frames.map(({ payload }) => payload));
  }
  return [...answers.map(({ text }) => text), list.text, new TextDecoder().decode(concatBytes(frames))].join(
    "\n",
  );
}

function drawn(frames: readonly { readonly type: number; readonly payload: Uint8Array }[]): true | undefined {
  const types: readonly number[] = [FrameType.STDOUT, FrameType.OUTPUT, FrameType.RESYNC];
  const all = frames.filter(({ type }) => types.includes(type)).map(({ payload }) => payload);
  return new TextDecoder().decode(concatBytes(all)).includes("on-screen") ? true : undefined;
}

async function typed(owner: Person, { id }: SessionRecord, text: string): Promise<void> {
  expect((await owner.ask(`/api/sessions/${id}/input`, { body: { text } })).status).toBe(200);
}

describe.each(["this machine", "a remote behind an HQ"])("a guest of a session on %s", (place) => {
  let owner: Person;
  let session: SessionRecord;
  let before: string;

  const guestWith = async (body: object): Promise<Person> => {
    const { json } = await owner.ask(`/api/sessions/${session.id}/share`, { body });
    return new Person(hq, NewShare.parse(json).token);
  };

  beforeAll(async () => {
    owner = Person.named(hq, people.one);
    const there = { remoteId: place === "this machine" ? "local" : await remoteId() };
    session = await owner.start({ command: ["sh", "-c", SCRIPT], cwd: "/tmp", ...there });
    before = `/api/sessions/${session.id}`;
    const onScreen = async (): Promise<true | undefined> =>
      (await owner.ask(`${before}/text`)).text.includes("on-screen") ? true : undefined;
    await eventually(onScreen, "the screen");
    await owner.ask(`${before}/markers`, { body: { label: "marker-canary" } });
  });

  test("is told its name, state, size and title, and not where, by whom and with what it runs", async () => {
    const guest = await guestWith({});
    const record = (await guest.ask(before)).json;
    expect(TOLD).toEqual(expect.arrayContaining(Object.keys(record)));
    expect(record).toMatchObject({ command: [], cwd: "", workingDir: "", name: "sh", access: "view" });
    const sight = await sightOf(guest, session);
    for (const secret of ["hidden-argument", people.one, "/tmp", "worker"])
      expect(sight).not.toContain(secret);
    // The link's creator sees all of it.
    expect(await sightOf(owner, session)).toContain("hidden-argument");
  });

  test("sees all output of a link with history", async () => {
    const sight = await sightOf(await guestWith({ history: true }), session);
    for (const seen of ["scrolled-canary-1\r", "behind-canary", "marker-canary", "on-screen"]) {
      expect(sight).toContain(seen);
    }
  });

  test("of a link from now on gets no output, marker or scrollback from before it", async () => {
    const sight = await sightOf(await guestWith({ history: false }), session);
    expect(sight).toContain("on-screen");
    expect(sight).not.toContain("canary");
  });

  test("of such a link gets what comes after it, also when it comes back, and no recording", async () => {
    const guest = await guestWith({ history: false });
    const { outputBytes: from } = (await owner.ask(before)).json;
    await using socket = await guest.connect();
    socket.subscribe(session.id, { flags: Stdout | Events | Offsets, from: 0 });
    await socket.frame(FrameType.RESYNC);
    await typed(owner, session, "input-canary\r");
    await socket.shows(/later-shown/);
    await using again = await guest.connect();
    again.subscribe(session.id, { flags: Stdout | Offsets, from });
    await again.shows(/later-shown/);
    expect(again.of(FrameType.RESYNC)).toEqual([]);
    expect((await guest.ask(`${before}/output?from=${from}`)).text).toContain("later-shown");
    expect((await guest.ask(`${before}/output?from=${from - 1}`)).json.code).toBe("range_not_satisfiable");
    for (const view of STREAMS) expect((await guest.ask(`${before}${view}`)).json.code).toBe("forbidden");
    expect(await sightOf(owner, session)).toContain("input-canary");
  });

  test("sees no recorded input, while it runs and after its end", async () => {
    const guest = await guestWith({ mode: "type" });
    expect(await sightOf(guest, session)).not.toContain("input-canary");
    await typed(owner, session, "input-canary\r");
    await eventually(
      async () => ((await owner.ask(before)).json.status === "exited" ? true : undefined),
      "the end",
    );
    const sight = await sightOf(guest, session, [...VIEWS, ...STREAMS]);
    expect(sight).toContain("scrolled-canary-1\r");
    expect(sight).toContain("exit");
    expect(sight).not.toContain("input-canary");
    expect((await owner.ask(`${before}/recording`)).text).toContain("input-canary");
    expect((await owner.ask(`${before}/stream`)).text).toContain("input-canary");
  });
});
