// Joining an HQ: who may, who is refused, and the events about it.
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { eventually } from "../../../packages/testing/src/wait.ts";
import { keptTokenSecret } from "../../../src/auth/secret.ts";
import { tableFile } from "../../../src/hq/registry/tables-file.ts";
import { Seal } from "../../../src/lib/seal.ts";
import { remotesOf } from "../../unit/hq/memory-store.ts";
import { SpecRemote } from "../fixtures/spec-remote.ts";
import { FakeRemote } from "../harness/fake-remote.ts";
import { ask } from "../harness/http.ts";
import { addressOf, TestFleet } from "../harness/test-fleet.ts";
import { REMOTE_KINDS } from "./remote-kinds.ts";

let fleet: TestFleet;
/** A server that answers the health check, so that the remote is not removed. */
let anybody: SpecRemote;
let names = 0;
beforeAll(async () => {
  fleet = await TestFleet.start({ asProcess: true, isGuarded: true });
  anybody = await SpecRemote.open();
});
afterAll(async () => {
  await fleet[Symbol.asyncDispose]();
  await anybody[Symbol.asyncDispose]();
});

/** A registration by hand; each under a different name. */
function registration(more: object = {}) {
  names += 1;
  const name = `by-hand-${names}`;
  return { id: `id-${name}`, name, url: anybody.url, token: `token-of-${name}`, ...more };
}

const register = (body: object) => fleet.ask("/api/remotes/register", { body });

/** The token that a remote registered with, once it is stored: read from the registry's file with the HQ's secret. */
async function tokenOf(name: string): Promise<string> {
  const { controlDir } = fleet.hq;
  const quiet = { info: () => {}, warn: () => {}, error: () => {}, debug: () => {} };
  const secret = await keptTokenSecret(join(controlDir, "jwt-secret"), quiet);
  const file = tableFile(join(controlDir, "registry.json"));
  const stored = async () => {
    const remotes = remotesOf(await file.load(), new Seal(secret));
    return remotes.find((remote) => remote.name === name)?.token;
  };
  return await eventually(stored, `the token of ${name}`);
}

describe("a remote that joins", () => {
  test("is listed with what is public of it, and both say what they are", async () => {
    const remote = fleet.remote("worker-1");
    // Known once its health was requested.
    const { version: _, load: __, latencyMs: ___, ...record } = await fleet.record("worker-1");
    expect(record).toEqual({
      ...{ id: record.id, name: "worker-1", url: addressOf(remote), sessionIds: [], status: "up" },
      ...{ registeredAt: expect.any(String), lastHeartbeat: expect.any(String) },
    });
    expect(new Date(record.registeredAt).toISOString()).toBe(record.registeredAt);
    expect(await remote.client().health()).toMatchObject({ mode: "remote", remoteId: record.id });
    const hq = await fleet.hq.client().health();
    expect(hq).toMatchObject({ mode: "hq", sessions: 0 });
    expect(hq.remotes).toBe((await fleet.remotes()).length);
    await eventually(async () => remote.log.includes("registered with the HQ") || undefined, "its log");
  });

  test("gets an answer with the record, and no token in it", async () => {
    const body = registration({ url: "http://127.0.0.1:9/" });
    const { status, json } = await register(body);
    expect(status).toBe(200);
    expect(json).toEqual({
      success: true,
      remote: {
        ...{ id: body.id, name: body.name, url: "http://127.0.0.1:9", sessionIds: [] },
        ...{ registeredAt: expect.any(String), lastHeartbeat: expect.any(String) },
      },
    });
  });

  test("again under the same id is refreshed in place", async () => {
    const body = registration();
    const first = (await register(body)).json.remote;
    const url = body.url.replace("127.0.0.1", "localhost");
    const second = (await register({ ...body, url })).json.remote;
    expect(second).toMatchObject({ registeredAt: first.registeredAt, url });
    expect(second.lastHeartbeat > first.lastHeartbeat).toBe(true);
    expect((await fleet.remotes()).filter(({ id }) => id === body.id)).toHaveLength(1);
  });

  test("leaves by DELETE, once", async () => {
    const body = registration();
    await register(body);
    const leave = () => fleet.ask(`/api/remotes/${body.id}`, { method: "DELETE" });
    expect(await leave()).toMatchObject({ status: 200, json: { success: true } });
    expect((await fleet.remotes()).some(({ id }) => id === body.id)).toBe(false);
    expect(await leave()).toMatchObject({ status: 404, json: { code: "remote_not_found" } });
  });

  test("at an unreachable address is accepted: the health check removes it", async () => {
    const url = "http://127.0.0.1:9";
    expect(await register(registration({ url }))).toMatchObject({ status: 200, json: { remote: { url } } });
  });
});

describe.each(REMOTE_KINDS)("a remote $what", ({ join: joinFleet }) => {
  test("is listed with what is public of it, and holds its name as long as it answers", async () => {
    names += 1;
    const name = `holder-${names}`;
    await using holder = await joinFleet(fleet, name);
    const { version: _, load: __, latencyMs: ___, ...record } = await fleet.record(name);
    expect(record).toEqual({
      ...{ id: expect.any(String), name, url: expect.stringContaining("http://"), sessionIds: [] },
      status: "up",
      ...{ registeredAt: expect.any(String), lastHeartbeat: expect.any(String) },
    });
    const successor = registration({ name });
    const { status, json } = await register(successor);
    expect([status, json.code, json.error]).toEqual([
      409,
      "remote_name_taken",
      expect.stringContaining(name),
    ]);
    expect(await fleet.record(name)).toMatchObject({ id: record.id, url: record.url });
    await holder[Symbol.asyncDispose]();
    expect((await register(successor)).status).toBe(200);
    const ids = (await fleet.remotes()).filter((remote) => remote.name === name).map(({ id }) => id);
    expect(ids).toEqual([successor.id]);
  });
});

describe("a name that is taken", () => {
  test("is refused to a second remote, whose log says so", async () => {
    const { id } = await fleet.record("worker-1");
    const second = await fleet.add("worker-1", { as: "impostor" });
    await eventually(
      async () => second.log.includes("another remote has the name worker-1") || undefined,
      "the refusal",
    );
    expect((await fleet.record("worker-1")).id).toBe(id);
  });

  test("goes to another one when its holder is dead", async () => {
    const holder = await fleet.add("mortal");
    await fleet.joined("mortal");
    const { id } = await fleet.record("mortal");
    await holder.kill();
    const successor = registration({ name: "mortal" });
    expect((await register(successor)).status).toBe(200);
    expect((await fleet.record("mortal")).id).toBe(successor.id);
    expect((await fleet.remotes()).some((remote) => remote.id === id)).toBe(false);
  });
});

describe("the token of a remote", () => {
  test("opens it to its HQ, is another one after every start, and opens nothing else", async () => {
    const remote = await fleet.add("renewed");
    await fleet.joined("renewed");
    const before = await tokenOf("renewed");
    const at = (url: string, token: string) =>
      ask(url, "/api/sessions", { headers: { authorization: `Bearer ${token}` } });
    expect((await at(remote.url, before)).status).toBe(200);
    expect((await at(fleet.remote("worker-1").url, before)).status).toBe(401);
    expect((await at(fleet.hq.url, before)).status).toBe(401);
    await remote.restart();
    const after = await eventually(async () => {
      const token = await tokenOf("renewed");
      return token === before ? undefined : token;
    }, "another token");
    expect((await at(remote.url, before)).status).toBe(401);
    expect((await at(remote.url, after)).status).toBe(200);
  });

  test("stands in no answer of the HQ, in no log and not in the registry's file", async () => {
    const body = registration({ token: "a-token-that-would-be-seen" });
    const answers = [await register(body), await register({ ...body, token: `${body.token}2` })];
    for (const path of [
      "/api/remotes",
      "/api/sessions",
      "/api/health",
      "/api/clients",
      "/metrics",
      "/api/openapi.json",
    ]) {
      answers.push(await fleet.ask(path));
    }
    answers.push(await register({ ...body, url: "nowhere" }), await register({ ...body, name: "worker-1" }));
    answers.push(await fleet.ask(`/api/remotes/${body.name}/proxy/api/sessions`));
    const { log, controlDir } = fleet.hq;
    const own = await tokenOf("worker-1");
    expect(own.length).toBeGreaterThan(20);
    const seen = [...answers.map(({ text, headers }) => text + JSON.stringify(headers)), log];
    seen.push(await readFile(join(controlDir, "registry.json"), "utf8"), fleet.remote("worker-1").log);
    for (const text of seen) {
      expect(text).not.toContain(body.token);
      expect(text).not.toContain(own);
    }
  });
});

describe("what is refused", () => {
  test.each([
    ["a path", "http://127.0.0.1:9/path"],
    ["a query", "http://127.0.0.1:9/?query"],
    ["a fragment", "http://127.0.0.1:9/#fragment"],
    ["a user name and password", "http://user:password@127.0.0.1:9"],
    ["a user name", "http://user@127.0.0.1:9"],
    ["ftp", "ftp://127.0.0.1"],
    ["a file", "file:///etc/passwd"],
    ["a unix socket", "unix:/run/docker.sock"],
    ["no scheme", "127.0.0.1:9"],
    ["half a scheme", "//127.0.0.1:9"],
    ["nothing in it", ""],
    ["3,000 characters", `http://${"a".repeat(3_000)}.test`],
  ])("a url with %s", async (_, url) => {
    const { status, json } = await register(registration({ url }));
    expect([status, json.code, json.details.issues[0].path]).toEqual([400, "invalid_request", "url"]);
  });

  test.each([
    ["an id with a slash", { id: "a/b" }, "id"],
    ["an id of 65 characters", { id: "x".repeat(65) }, "id"],
    ["a name with a slash", { name: "a/b" }, "name"],
    ["a name with dots alone", { name: ".." }, "name"],
    ["the name of the HQ's own sessions", { name: "local" }, "name"],
    ["the id of the HQ's own sessions", { id: "local" }, "id"],
    ["no token", { token: "" }, "token"],
    ["a token that is more than a header's value", { token: "x\r\ncookie: y" }, "token"],
    ["a token that no header can carry", { token: "é" }, "token"],
  ])("%s", async (_, wrong, path) => {
    const { status, json } = await register(registration(wrong));
    expect([status, json.code, json.details.issues[0].path]).toEqual([400, "invalid_request", path]);
  });

  test("the HQ's own address: sessions would go round in circles", async () => {
    const { status, json } = await register(registration({ url: fleet.hq.url }));
    expect([status, json.code]).toEqual([400, "invalid_request"]);
    expect(json.details.issues).toEqual([{ path: "url", message: "leads to this HQ itself" }]);
  });

  test("the address of another HQ", async () => {
    await using other = await TestFleet.start({ remotes: 0 });
    const { status, json } = await register(registration({ url: other.hq.url }));
    expect([status, json.details.issues]).toEqual([400, [{ path: "url", message: "leads to an HQ" }]]);
  });

  test("an HQ's address, also for a remote that had another one before", async () => {
    const body = registration();
    await register(body);
    expect((await register({ ...body, url: fleet.hq.url })).status).toBe(400);
    expect((await fleet.record(body.name)).url).toBe(body.url);
  });
});

test("a redirect is not followed, neither of the health nor of anything else", async () => {
  await using target = await FakeRemote.open(() => ({ status: 200, body: [] }));
  await using remote = await FakeRemote.open((path) => ({
    status: 307,
    location: `${target.url}${path}`,
  }));
  const body = registration({ url: remote.url });
  expect((await register(body)).status).toBe(200);
  await remote.asked("/api/health");
  const { status, headers } = await fleet.ask(`/api/remotes/${body.name}/proxy/api/git/repo-info?path=/`);
  await remote.asked("/api/git/repo-info?path=%2F");
  expect([status, headers.location]).toEqual([307, undefined]);
  expect(target.requests).toEqual([]);
});
