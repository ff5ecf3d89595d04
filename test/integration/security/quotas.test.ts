// Limits per user, so that others have capacity left.
import { expect, test } from "vitest";
import { eventually } from "../../../packages/testing/src/wait.ts";
import { MAX_USER_SOCKETS } from "../../../src/http/upgrade.ts";
import { MAX_SHARES, MAX_SHARES_OF_USER } from "../../../src/protocol/limits.ts";
import { Usage } from "../../../src/protocol/schemas/usage.ts";
import { openSocket, shakeHands } from "../harness/http.ts";
import { logIn, passwordServer, USERNAME } from "../harness/password-server.ts";
import { People, Person } from "../harness/people.ts";

test("a user has at most the limit of connections, until one of them is closed", async () => {
  await using server = await passwordServer("inline");
  const token = await logIn(server);
  const path = `/ws?token=${token}`;
  const opened = await Promise.all(
    Array.from({ length: MAX_USER_SOCKETS }, () => openSocket(server.url, path)),
  );
  expect(opened.filter(({ answer }) => answer.status === 101)).toHaveLength(MAX_USER_SOCKETS);
  expect(await shakeHands(server.url, path)).toMatchObject({ status: 429, json: { code: "rate_limited" } });
  opened[0]?.socket?.destroy();
  const again = async () => (await shakeHands(server.url, path)).status === 101 || undefined;
  await eventually(again, "room for another connection");
  for (const { socket } of opened) socket?.destroy();
});

test("a user has at most the limit of share links, and others can create theirs", async () => {
  await using people = await People.make();
  await using server = await people.server();
  const one = Person.named(server, people.one);
  const other = Person.named(server, people.other);
  const session = await one.start({ command: ["cat"], cwd: "/" });
  const share = (by: Person, id: string) => by.ask(`/api/sessions/${id}/share`, { body: {} });
  const { json: first } = await share(one, session.id);
  for (let made = 1; made < MAX_SHARES_OF_USER; made++) {
    expect(await share(one, session.id)).toMatchObject({ status: 201 });
  }
  expect(await share(one, session.id)).toMatchObject({ status: 429, json: { code: "too_many_shares" } });
  const others = await other.start({ command: ["cat"], cwd: "/" });
  expect(await share(other, others.id)).toMatchObject({ status: 201 });
  await one.ask(`/api/sessions/${session.id}/shares/${first.id}`, { method: "DELETE" });
  expect(await share(one, session.id)).toMatchObject({ status: 201 });
});

test("an HQ counts what each user has there, and the sessions of all its machines", async () => {
  await using people = await People.make();
  await using hq = await people.server({ args: ["--hq", "--no-hq-auth"] });
  const to = ["--hq-url", hq.url, "--allow-insecure-hq", "--no-hq-auth", "--name", "worker"];
  await using _worker = await people.server({ args: to });
  const own = new Person(hq, await logIn(hq));
  const remoteOf = async (): Promise<string | undefined> => (await own.ask("/api/remotes")).json[0]?.id;
  const remoteId = await eventually(remoteOf, "the remote");
  const one = Person.named(hq, people.one);
  const request = { command: ["cat"], cwd: "/", remoteId };
  const record = await one.start(request);
  await one.share(record, "view");
  await one.share(record, "type");
  await own.start(request);
  await using socket = await one.connect();
  const { status, json } = await own.ask("/api/usage");
  expect(status).toBe(200);
  const { users, limits, perMinute } = Usage.parse(json);
  const of = (name: string) => users.find(({ user }) => user === name);
  expect(of(people.one)).toMatchObject({ running: 1, ended: 0, connections: 1, shares: 2 });
  expect(of(USERNAME)).toMatchObject({ running: 1, shares: 0, connections: 0 });
  expect(limits.shares).toEqual({ perUser: MAX_SHARES_OF_USER, inTotal: MAX_SHARES });
  expect(perMinute).toEqual({});
  expect((await one.ask("/api/usage")).status).toBe(403);
  expect(socket).toBeDefined();
});
