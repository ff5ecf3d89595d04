// A cordoned server starts no new sessions, and running ones continue.
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { eventually } from "../../packages/testing/src/wait.ts";
import type { Client } from "../../src/protocol/client/client.ts";
import { type Ran, ttyhq } from "./harness/command.ts";
import { ask } from "./harness/http.ts";
import { metric, TestFleet } from "./harness/test-fleet.ts";
import { TestServer } from "./harness/test-server.ts";

const cordoned = { status: 409, json: { code: "cordoned" } };

describe("a server", () => {
  let server: TestServer;
  let client: Client;

  beforeEach(async () => {
    server = await TestServer.start({ asProcess: true });
    client = server.client();
  });
  afterEach(() => server[Symbol.asyncDispose]());

  const local = (...args: readonly string[]): Promise<Ran> =>
    ttyhq(args, { TTYHQ_CONTROL_DIR: server.controlDir });
  const create = () => ask(server.url, "/api/sessions", { body: { command: ["cat"] } });
  const isCordoned = async (): Promise<boolean> => (await client.health()).cordoned === true;

  test("that is cordoned refuses new sessions, says how to allow them, and goes on with the running one", async () => {
    const { id } = await client.create({ command: ["cat"] });
    expect(await metric(server, "ttyhq_cordoned")).toBe(0);
    expect(await local("cordon")).toMatchObject({
      code: 0,
      stdout: expect.stringContaining(" is cordoned\n"),
    });
    const refused = await create();
    expect(refused).toMatchObject(cordoned);
    expect(refused.json.error).toContain("`ttyhq uncordon`");
    expect(await local("run", "--detach", "--", "true")).toMatchObject({ code: 1, stdout: "" });
    await client.input(id, { text: "x" });
    expect(await isCordoned()).toBe(true);
    expect(await metric(server, "ttyhq_cordoned")).toBe(1);
    expect((await local("status")).stdout).toMatch(/^server .*, cordoned$/m);
    expect(await local("uncordon")).toMatchObject({ code: 0 });
    expect((await create()).status).toBe(201);
    expect(await client.health()).not.toHaveProperty("cordoned");
  });

  test("stays cordoned after a restart, except when that was for the time until then", async () => {
    await local("cordon", "--until-restart");
    expect(await isCordoned()).toBe(true);
    await server.restart();
    expect(await isCordoned()).toBe(false);
    await local("cordon");
    await local("cordon", "--until-restart");
    await server.restart();
    expect(await create()).toMatchObject(cordoned);
    await local("uncordon");
    await server.restart();
    expect((await create()).status).toBe(201);
  });

  test("is drained when its last session has ended", async () => {
    const { id } = await client.create({ command: ["cat"] });
    const drained = local("drain", "--wait");
    await eventually(async () => (await isCordoned()) || undefined, "the cordon");
    await client.remove(id);
    expect(await drained).toMatchObject({ code: 0, stdout: expect.stringContaining(" runs no sessions\n") });
    expect(await create()).toMatchObject(cordoned);
  });

  test("that still runs sessions at the deadline names them and ends them only when asked", async () => {
    const { id } = await client.create({ command: ["cat"], name: "stubborn" });
    const late = await local("drain", "--wait", "--deadline", "1s");
    expect(late).toMatchObject({ code: 1, stdout: expect.stringContaining("stubborn") });
    expect(late.stderr).toContain("1 session still runs");
    expect(await client.get(id)).toMatchObject({ status: "running" });
    const ended = await local("drain", "--end", "--json");
    expect(ended.code).toBe(0);
    expect(JSON.parse(ended.stdout)).toMatchObject({ running: [], ended: [{ id }] });
    expect(await client.get(id)).toMatchObject({ status: "exited", endRequested: true });
  });

  test("is not cordoned by waiting for its session host", async () => {
    expect(await local("drain", "--session-host", "--wait")).toMatchObject({ code: 0 });
    expect(await isCordoned()).toBe(false);
  });
});

describe("a machine of an HQ", () => {
  let fleet: TestFleet;

  beforeEach(async () => {
    fleet = await TestFleet.start({ asProcess: true, remotes: 2 });
  });
  afterEach(() => fleet[Symbol.asyncDispose]());

  const atHq = (...args: readonly string[]): Promise<Ran> => ttyhq([...args, "--url", fleet.hq.url]);
  const createOn = async (name: string) => {
    const { id: remoteId } = await fleet.record(name);
    return fleet.ask("/api/sessions", { body: { command: ["cat"], remoteId } });
  };

  test("that runs no session is drained at once", async () => {
    const drained = await atHq("drain", "worker-2");
    expect(drained).toMatchObject({ code: 0, stdout: "worker-2 runs no sessions\n" });
    expect(await atHq("uncordon", "worker-2")).toMatchObject({ code: 0 });
  });

  test("is cordoned there, which its own list and the one of the HQ show at once", async () => {
    const before = await fleet.create("worker-1", { command: ["cat"] });
    expect(await atHq("cordon", "worker-1")).toMatchObject({ code: 0, stdout: "worker-1 is cordoned\n" });
    expect(await fleet.record("worker-1")).toMatchObject({ cordoned: true, sessionIds: [before.id] });
    expect(await fleet.record("worker-2")).not.toHaveProperty("cordoned");
    expect(await metric(fleet.hq, "ttyhq_remotes_cordoned")).toBe(1);
    expect((await atHq("machines")).stdout).toMatch(/^worker-1 +cordoned +1 .*\nworker-2 +up +0 /m);
    const refused = await createOn("worker-1");
    expect(refused).toMatchObject(cordoned);
    expect(refused.json.error).toMatch(/^worker-1 is cordoned/);
    expect((await createOn("worker-2")).status).toBe(201);
    const drained = await atHq("drain", "worker-1");
    expect(drained).toMatchObject({ code: 1, stdout: expect.stringContaining(before.id) });
    expect(await atHq("uncordon", "worker-1")).toMatchObject({ code: 0 });
    expect((await createOn("worker-1")).status).toBe(201);
  });

  test("that was cordoned on the machine itself is known to the HQ, also after its restart", async () => {
    const shown = (wanted: true | undefined) =>
      eventually(async () => {
        const remote = (await fleet.remotes()).find(({ name }) => name === "worker-1");
        return (remote !== undefined && remote.cordoned === wanted) || undefined;
      }, `cordoned: ${wanted}`);
    const { controlDir } = fleet.remote("worker-1");
    await ttyhq(["cordon", "--control-dir", controlDir]);
    await shown(true);
    await fleet.hq.restart();
    await shown(true);
    await ttyhq(["uncordon", "--control-dir", controlDir]);
    await shown(undefined);
  });

  test("that there is not is refused by name", async () => {
    const { code, stderr } = await atHq("cordon", "nobody");
    expect({ code, stderr }).toEqual({ code: 1, stderr: "ttyhq: no remote with the name nobody\n" });
  });
});
