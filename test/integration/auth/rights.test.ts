// The sessions that a user may see and change (contract 5.7).
import { userInfo } from "node:os";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { FrameType } from "../../../src/protocol/frame/frame.ts";
import { encodeSize, SubscribeFlag } from "../../../src/protocol/frame/payload.ts";
import type { SessionRecord } from "../../../src/protocol/schemas/session.ts";
import type { Question } from "../harness/http.ts";
import { logIn, USERNAME } from "../harness/password-server.ts";
import { People, Person } from "../harness/people.ts";
import type { TestServer } from "../harness/test-server.ts";

const FLAGS = SubscribeFlag.Stdout | SubscribeFlag.Offsets | SubscribeFlag.Events;
const notFound = { status: 404, json: expect.objectContaining({ code: "session_not_found" }) };
const forbidden = { status: 403, json: expect.objectContaining({ code: "forbidden" }) };

let people: People;
let server: TestServer;
let owner: Person;
let other: Person;
let session: SessionRecord;

beforeAll(async () => {
  people = await People.make();
  server = await people.server();
  owner = Person.named(server, people.one);
  other = Person.named(server, people.other);
  session = await owner.start({ command: ["cat"], cwd: "/", name: "secret plans" });
});
afterAll(async () => {
  await server[Symbol.asyncDispose]();
  await people[Symbol.asyncDispose]();
});

/** All requests about one session. */
const QUESTIONS: readonly (readonly [string, Question])[] = [
  ["", {}],
  ["", { method: "PATCH", body: { name: "mine now" } }],
  ["", { method: "DELETE" }],
  ["/cleanup", { method: "DELETE" }],
  ["/input", { body: { text: "x" } }],
  ["/resize", { body: { cols: 10, rows: 10 } }],
  ["/kill", { body: { signal: "SIGKILL" } }],
  ["/markers", { body: { label: "here" } }],
  ["/text", {}],
  ["/buffer", {}],
  ["/resync", {}],
  ["/recording", {}],
  ["/stream", {}],
  ["/output", {}],
  ["/events?from=0", {}],
  ["/share", { body: {} }],
  ["/shares", {}],
  ["/shares/any", { method: "DELETE" }],
];

test.each(QUESTIONS)(
  "to another user %s with %j is not there, as if it had never been",
  async (path, question) => {
    const mine = await other.ask(`/api/sessions/${session.id}${path}`, question);
    const never = await other.ask(`/api/sessions/no-such-session${path}`, question);
    expect(mine).toMatchObject(notFound);
    expect(mine.text.replaceAll(session.id, "ID")).toBe(never.text.replaceAll("no-such-session", "ID"));
  },
);

test("a user's list has only that user's sessions", async () => {
  const own = await other.start({ command: ["cat"], cwd: "/" });
  expect(await owner.listed()).toEqual([session.id]);
  expect(await other.listed()).toEqual([own.id]);
});

test.each([
  ["a user of --admin-user", () => people.admin],
  ["the user with the configured password", () => USERNAME],
])("%s sees and uses everybody's", async (_, name) => {
  const user = name();
  const admin = Person.named(server, user);
  expect(await admin.listed()).toContain(session.id);
  const path = `/api/sessions/${session.id}`;
  expect(await admin.ask(path)).toMatchObject({ status: 200, json: { owner: people.one } });
  expect((await admin.ask(`${path}/input`, { body: { text: `from ${user}` } })).status).toBe(200);
});

test("a caller cannot choose a session's owner, nor the user that it runs as", async () => {
  const body = { command: ["cat"], cwd: "/", owner: people.one, account: "root" };
  const made = await other.start(body);
  expect(made.owner).toBe(people.other);
  expect(await owner.listed()).not.toContain(made.id);
});

test("sessions from the server's own machine are its own user's, and no other's", async () => {
  const own = new Person(server, await logIn(server));
  const made = await own.start({ command: ["cat"] });
  expect(await own.listed()).toContain(made.id);
  expect(await owner.listed()).not.toContain(made.id);
});

describe("over /ws", () => {
  test("somebody else's session cannot be watched, typed into, resized or killed", async () => {
    await using socket = await other.connect();
    socket.subscribe(session.id, { flags: FLAGS, from: 0 });
    expect(await socket.errorCode()).toBe("session_not_found");
    socket.type(session.id, "rm -rf\r");
    expect(await socket.errorCode()).toBe("session_not_found");
    socket.send(FrameType.RESIZE, session.id, encodeSize({ cols: 10, rows: 10 }));
    expect(await socket.errorCode()).toBe("session_not_found");
    socket.send(FrameType.KILL, session.id, "SIGKILL");
    expect(await socket.errorCode()).toBe("session_not_found");
    expect(socket.outputBytes).toBe(0);
  });

  test("also while its owner watches it", async () => {
    await using watching = await owner.connect();
    watching.subscribe(session.id, { flags: FLAGS, from: 0 });
    watching.type(session.id, "seen by me\r");
    await watching.shows(/seen by me/);
    await using socket = await other.connect();
    socket.subscribe(session.id, { flags: FLAGS, from: 0 });
    expect(await socket.errorCode()).toBe("session_not_found");
  });

  test("input before the first answer arrives in order", async () => {
    const typed = await owner.start({ command: ["cat"], cwd: "/" });
    await using socket = await owner.connect();
    const line = [..."0123456789".repeat(20)];
    for (const letter of line) socket.type(typed.id, letter);
    socket.type(typed.id, "\r");
    socket.subscribe(typed.id, { flags: FLAGS, from: 0 });
    await socket.shows(new RegExp(line.join("")));
  });

  test("nobody is told of what happens to others' sessions", async () => {
    await using mine = await owner.connect();
    await using others = await other.connect();
    for (const socket of [mine, others]) {
      socket.subscribe("", { flags: SubscribeFlag.Events });
      await socket.event("connected");
    }
    const short = await owner.start({ command: ["true"], cwd: "/", name: "hush" });
    await mine.event("session-exit");
    await owner.ask(`/api/sessions/${short.id}`, { method: "DELETE" });
    await mine.event("session-removed");
    await others.settled();
    const told = others.jsons(FrameType.EVENT).map(({ type }) => type);
    expect(told).toEqual(["connected"]);
  });
});

test("cleaning up removes one's own ended sessions and leaves the others'", async () => {
  const short = await owner.start({ command: ["true"], cwd: "/" });
  await using socket = await owner.connect();
  socket.subscribe(short.id, { flags: FLAGS, from: 0 });
  await socket.event("exit");
  const { json: nothing } = await other.ask("/api/cleanup-exited", { method: "POST" });
  expect(nothing).toMatchObject({ localCleaned: 0 });
  const { json: cleaned } = await owner.ask("/api/cleanup-exited", { method: "POST" });
  expect(cleaned).toMatchObject({ cleanedSessions: expect.arrayContaining([short.id]) });
});

test("only callers with all permissions see the connected clients", async () => {
  expect(await other.ask("/api/clients")).toMatchObject(forbidden);
  expect((await Person.named(server, people.admin).ask("/api/clients")).status).toBe(200);
});

test("an unnamed user is refused with any token", async () => {
  expect((await Person.named(server, "eve").ask("/api/sessions")).status).toBe(401);
});

test("another session under a freed id is nobody's but its owner's", async () => {
  const { id } = await owner.start({ command: ["true"], cwd: "/" });
  await using watching = await owner.connect();
  watching.subscribe(id, { flags: FLAGS, from: 0 });
  await watching.event("exit");
  expect((await owner.ask(`/api/sessions/${id}`, { method: "DELETE" })).status).toBe(200);
  const admin = Person.named(server, userInfo().username);
  await admin.start({ id, command: ["cat"], cwd: "/" });
  watching.type(id, "hello\r");
  await watching.json(FrameType.ERROR, ({ code }) => code === "session_not_found");
  expect(await owner.ask(`/api/sessions/${id}`)).toMatchObject(notFound);
  expect(await other.ask(`/api/sessions/${id}`)).toMatchObject(notFound);
  expect((await admin.ask(`/api/sessions/${id}`)).json.id).toBe(id);
});

describe("the id of a new session", () => {
  const create = (person: Person, id: string) =>
    person.ask("/api/sessions", { body: { id, command: ["true"], cwd: "/" } });

  test("that others could guess is refused alike whether or not somebody has it", async () => {
    const admin = Person.named(server, people.admin);
    expect(await create(admin, "nightly-build")).toMatchObject({ status: 201 });
    const taken = await create(other, "nightly-build");
    expect(taken).toMatchObject({ status: 403, json: { error: expect.stringContaining("UUID") } });
    const free = await create(other, "nightly-tests");
    expect([free.status, free.text]).toEqual([taken.status, taken.text]);
    const fromTheClock = await create(other, "c232ab00-9414-11ec-b3c8-9f6bdeced846");
    expect(fromTheClock).toMatchObject({ status: 403 });
  });

  test.each(["5df41881-3aed-4515-88a7-2f4a814cf09e", "017f22e2-79b0-7cc3-98c4-dc0c0c07398f"])(
    "is everybody's to choose where it is a random UUID, as %s is, and is taken from then on",
    async (id) => {
      expect(await create(other, id)).toMatchObject({ status: 201, json: { id } });
      expect(await create(owner, id)).toMatchObject({ status: 409, json: { code: "session_exists" } });
    },
  );
});

test("nobody but an HQ with its token can ask for somebody else", async () => {
  const headers = { "ttyhq-on-behalf-of": people.one };
  expect((await other.ask("/api/sessions", { headers })).json).not.toContainEqual(
    expect.objectContaining({ owner: people.one }),
  );
  const admin = await Person.named(server, people.admin).ask("/api/clients", { headers });
  expect(admin.status).toBe(200);
});
