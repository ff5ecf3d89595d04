// The sessions of another process, which is a server of this test.
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { createServer } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { type WebSocket, WebSocketServer } from "ws";
import { POSITION_HEADER } from "../../../src/protocol/directory/session-change.ts";
import { type ServerEvent, sessionEvent } from "../../../src/protocol/frame/event.ts";
import { decodeFrame, encodeFrame, FrameType } from "../../../src/protocol/frame/frame.ts";
import { encodeJson } from "../../../src/protocol/frame/payload.ts";
import type { SessionRecord } from "../../../src/protocol/schemas/session.ts";
import { RemoteSessions } from "../../../src/remote/remote-sessions.ts";
import { AnySession } from "../../../src/remote/specified/session-record.ts";
import { until } from "../until.ts";

const MAX_RECORDS_LENGTH = 10_000;

/** A server with these sessions, and a limited client of it. `requests`: what the client has asked for. */
async function serverOf(...records: readonly SessionRecord[]) {
  const stack = new AsyncDisposableStack();
  const folder = mkdtempSync(join(tmpdir(), "remote-"));
  stack.defer(() => rmSync(folder, { recursive: true }));
  const requests: string[] = [];
  const http = createServer(({ method, url }, response) => {
    requests.push(`${method} ${url}`);
    const [, , , id] = url?.split("/") ?? [];
    response.setHeader(POSITION_HEADER, "e 0");
    response.setHeader("content-type", "application/json");
    const removed = { success: true, status: "exited", exitCode: 0 };
    const found = records.find((record) => id?.startsWith(record.id));
    response.end(JSON.stringify(method === "DELETE" ? removed : (found ?? records)));
  });
  stack.defer(() => {
    http.closeAllConnections();
    http.close();
  });
  const sockets: WebSocket[] = [];
  new WebSocketServer({ server: http, path: "/ws" }).on("connection", (socket) => {
    sockets.push(socket);
    socket.on("message", (message: Buffer) => {
      const { type, payload } = decodeFrame(message);
      if (type === FrameType.PING) socket.send(encodeFrame(FrameType.PONG, "", payload));
      else if (type === FrameType.SUBSCRIBE) tell({ type: "connected", epoch: "e", revision: 0 });
    });
  });
  const tell = (event: Omit<ServerEvent, "timestamp">): void => {
    const payload = encodeJson({ timestamp: "", ...event });
    for (const socket of sockets) socket.send(encodeFrame(FrameType.EVENT, "", payload));
  };
  const socketPath = join(folder, "host.sock");
  await once(http.listen(socketPath), "listening");
  let timesFull = 0;
  const limit = { maxRecordsLength: MAX_RECORDS_LENGTH, onReached: () => void timesFull++ };
  const sessions = stack.use(new RemoteSessions({ target: { socketPath }, version: "test", limit }));
  await sessions.connected(5_000);
  await sessions.caughtUp();
  return {
    ...{ sessions, requests, tell, timesFull: () => timesFull },
    [Symbol.asyncDispose]: () => stack.disposeAsync(),
  };
}

test("ending a session takes one request, and none if it has ended already", async () => {
  const [running, ended] = [
    AnySession.parse({ id: "running", status: "running" }),
    AnySession.parse({ id: "ended", status: "exited", exitCode: 3 }),
  ];
  await using server = await serverOf(running, ended);
  server.requests.length = 0;
  expect(await server.sessions.remove("ended", "running")).toEqual({
    ...{ success: true, status: "exited", exitCode: 3 },
  });
  expect(server.requests).toEqual([]);
  const removing = server.sessions.remove("running", "running");
  await until(() => server.requests.length > 0);
  const record = { ...running, status: "exited", exitCode: 0 } as const;
  server.tell({ ...sessionEvent("session-exit", record), epoch: "e", revision: 1 });
  await removing;
  expect(server.requests).toEqual(["DELETE /api/sessions/running?if=running"]);
});

test("a process that reports ever more sessions fills no memory, and is reported once", async () => {
  await using server = await serverOf();
  for (let revision = 1; revision <= 500; revision += 1) {
    const record = AnySession.parse({ id: `s${revision}`, status: "running" });
    server.tell({ ...sessionEvent("session-start", record), epoch: "e", revision });
  }
  await server.sessions.caughtUp();
  const length = JSON.stringify(server.sessions.all()).length;
  expect(length).toBeGreaterThan(MAX_RECORDS_LENGTH / 2);
  expect(length).toBeLessThan(MAX_RECORDS_LENGTH + 500);
  expect(server.timesFull()).toBe(1);
});

test("an event that is no change of a session carries no record", async () => {
  await using server = await serverOf();
  const events: ServerEvent[] = [];
  using _ = server.sessions.watch((event) => events.push(event));
  const record = AnySession.parse({ id: "smuggled", status: "running" });
  server.tell({ type: "bell", sessionId: "smuggled", record });
  await until(() => events.length === 1);
  expect(events[0]).not.toHaveProperty("record");
});

test("a process that says that its remotes have left makes no room for more sessions", async () => {
  await using server = await serverOf();
  const heard = new Map<string, SessionRecord>();
  using _ = server.sessions.watch(({ type, sessionId = "", record }) => {
    if (record !== undefined) heard.set(sessionId, record);
    else if (type === "session-removed") heard.delete(sessionId);
  });
  let revision = 0;
  for (const remoteName of ["one", "other"]) {
    for (let number = 1; number <= 500; number += 1) {
      const record = { ...AnySession.parse({ id: `${remoteName}-${number}` }), remoteName };
      revision += 1;
      server.tell({ ...sessionEvent("session-start", record), epoch: "e", revision });
    }
    revision += 1;
    server.tell({ type: "remote-left", remoteName, epoch: "e", revision });
  }
  await server.sessions.caughtUp();
  expect([...heard.keys()].toSorted()).toEqual(
    server.sessions
      .all()
      .map(({ id }) => id)
      .toSorted(),
  );
});

test("an answer about another session than was asked for is none", async () => {
  await using server = await serverOf(AnySession.parse({ id: "another", status: "running" }));
  expect(await server.sessions.get("another")).toMatchObject({ id: "another" });
  await expect(server.sessions.get("another-one")).rejects.toMatchObject({ code: "session_not_found" });
});
