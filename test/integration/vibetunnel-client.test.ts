// Clients of VibeTunnel work here unchanged: web (flags 5 and 2, global 4) and iOS (flags 6).
import { afterAll, beforeAll, expect, test } from "vitest";
import { TestServer } from "./harness/test-server.ts";
import { snapshotRows, Type, VibeTunnelClient } from "./harness/vibetunnel-client.ts";

let server: TestServer;

beforeAll(async () => {
  server = await TestServer.start();
});

afterAll(async () => {
  await server[Symbol.asyncDispose]();
});

/** As its clients create a session: an array, a working directory, a title mode. */
async function create(script: string): Promise<string> {
  const body = JSON.stringify({
    command: ["sh", "-c", script],
    workingDir: "/",
    titleMode: "none",
    cols: 80,
    rows: 24,
  });
  const headers = { "content-type": "application/json" };
  const response = await fetch(`${server.url}/api/sessions`, { method: "POST", body, headers });
  const { sessionId } = await response.json();
  return sessionId;
}

test("the web client's interactive view (flags 5) gets header, history, live output and the exit", async () => {
  const id = await create("echo before; read line; echo got $line; exit 7");
  using client = await VibeTunnelClient.open(server.url);
  client.subscribe(id, 5);
  await client.until(() => (client.stdout(id).includes("before\r\n") ? true : undefined), "the history");
  expect(client.events(id)[0]).toMatchObject({
    kind: "header",
    header: { version: 2, width: 80, height: 24 },
  });
  client.send(Type.INPUT_TEXT, id, "one é");
  client.send(Type.INPUT_KEY, id, "enter");
  const exit = await client.until(() => client.events(id).find(({ kind }) => kind === "exit"), "the exit");
  expect(exit).toEqual({ kind: "exit", type: "session-exit", sessionId: id, exitCode: 7 });
  expect(client.stdout(id)).toContain("got one é\r\n");
  expect(client.frames.at(-1)?.type).toBe(Type.EVENT);
});

test("a PING comes back as PONG, in the byte order of its clients", async () => {
  using client = await VibeTunnelClient.open(server.url);
  client.send(Type.PING, "", "ping");
  const pong = await client.until(() => client.of(Type.PONG, "")[0], "the PONG");
  expect(pong.payload.toString()).toBe("ping");
});

test("the iOS client (flags 6) gets a snapshot at once, further ones, and the exit", async () => {
  const id = await create("printf 'first screen'; read line; printf ' second'; read line");
  using web = await VibeTunnelClient.open(server.url);
  web.subscribe(id, 5);
  await web.until(() => (web.stdout(id).includes("first screen") ? true : undefined), "the first output");
  using client = await VibeTunnelClient.open(server.url);
  client.subscribe(id, 6);
  const first = await client.until(() => client.of(Type.SNAPSHOT_VT, id)[0], "the first snapshot");
  expect(first.payload.length).toBeGreaterThanOrEqual(32);
  expect(snapshotRows(first.payload)[0]).toContain("first screen");
  client.send(Type.INPUT_KEY, id, "enter");
  await client.until(
    () =>
      client
        .of(Type.SNAPSHOT_VT, id)
        .find(({ payload }) => snapshotRows(payload).join("\n").includes("second")),
    "the second snapshot",
  );
  expect(client.of(Type.STDOUT, id)).toEqual([]);
  client.send(Type.INPUT_KEY, id, "enter");
  expect(
    await client.until(() => client.events(id).find(({ kind }) => kind === "exit"), "the exit"),
  ).toMatchObject({ exitCode: 0 });
});

test("a preview (flags 2) of an idle session gets a snapshot of its blank screen", async () => {
  const id = await create("read line");
  using client = await VibeTunnelClient.open(server.url);
  client.subscribe(id, 2);
  const { payload } = await client.until(() => client.of(Type.SNAPSHOT_VT, id)[0], "the snapshot");
  expect(payload.length).toBeGreaterThanOrEqual(32);
  expect(payload.readUInt32LE(4)).toBe(80);
  client.send(Type.KILL, id, "SIGKILL");
  await client.until(() => client.events(id).find(({ kind }) => kind === "exit"), "the exit");
});

test("the global channel (flags 4) is acknowledged and tells of sessions that start and end", async () => {
  using client = await VibeTunnelClient.open(server.url);
  client.subscribe("", 4);
  await client.until(() => client.events("").find(({ type }) => type === "connected"), "the acknowledgement");
  const id = await create("exit 3");
  await client.until(() => client.events(id).find(({ type }) => type === "session-start"), "the start");
  const end = await client.until(
    () => client.events(id).find(({ type }) => type === "session-exit"),
    "the end",
  );
  expect(end).toMatchObject({ sessionId: id, exitCode: 3 });
});

test("a resize is told to the program and to those who asked for events", async () => {
  const id = await create("trap 'stty size; exit' WINCH; echo ready; while :; do sleep 0.05; done");
  using client = await VibeTunnelClient.open(server.url);
  client.subscribe(id, 5);
  await client.until(() => (client.stdout(id).includes("ready") ? true : undefined), "the program");
  client.resize(id, 132, 43);
  await client.until(() => (client.stdout(id).includes("43 132") ? true : undefined), "the new size");
  expect(client.events(id)).toContainEqual({ kind: "resize", dimensions: "132x43", cols: 132, rows: 43 });
});

test("another SUBSCRIBE, with the same flags or others, repeats no output; another client gets its own history", async () => {
  const id = await create("echo only once; read line");
  using client = await VibeTunnelClient.open(server.url);
  client.subscribe(id, 5);
  await client.until(() => (client.stdout(id).includes("only once") ? true : undefined), "the history");
  client.subscribe(id, 5);
  client.subscribe(id, 7);
  client.send(Type.PING, "", "x");
  await client.until(() => client.of(Type.SNAPSHOT_VT, id)[0], "the snapshot");
  expect(client.stdout(id)).toBe("only once\r\n");
  using other = await VibeTunnelClient.open(server.url);
  other.subscribe(id, 5);
  await other.until(() => (other.stdout(id).includes("only once") ? true : undefined), "the other's history");
  expect(client.stdout(id)).toBe("only once\r\n");
  client.send(Type.KILL, id);
  await client.until(() => client.events(id).find(({ kind }) => kind === "exit"), "the exit");
});

test("the errors that its clients show have a message", async () => {
  using client = await VibeTunnelClient.open(server.url);
  client.subscribe("no-such-session", 5);
  client.send(Type.INPUT_TEXT, "", "x");
  const errors = await client.until(
    () =>
      client.frames.filter(({ type }) => type === Type.ERROR).length === 2
        ? client.frames.filter(({ type }) => type === Type.ERROR)
        : undefined,
    "two errors",
  );
  const bodies = errors.map(({ payload }) => JSON.parse(payload.toString()));
  expect(bodies).toContainEqual({ message: "no session no-such-session", code: "session_not_found" });
  expect(bodies).toContainEqual({ message: "Missing sessionId for INPUT_TEXT", code: "invalid_request" });
});
