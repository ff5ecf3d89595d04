import { expect, test } from "vitest";
import type { Principal } from "../../../src/auth/principal.ts";
import { ALL, OWN } from "../../../src/auth/roles.ts";
import type { Context } from "../../../src/http/route.ts";
import { remoteRoutes } from "../../../src/http/routes/remote-routes.ts";
import type { ClientResponse } from "../../../src/protocol/client/send.ts";
import { MemoryFleet } from "../hq/memory-fleet.ts";

const ADMIN: Principal = { user: "me", method: "token", rights: ALL };
const USER: Principal = { user: "ada", method: "token", rights: OWN, owner: "ada" };

const asking = (principal: Principal): Context => ({
  ...{ principal, identified: async () => undefined, address: undefined, accepts: () => false },
  ...{ range: undefined, lastEventId: undefined, signal: new AbortController().signal },
});

const reportOf = () => ({ version: "1.2.3", load: 0.5, latencyMs: 12 });

test("users get the list of remotes without sessions of others, conflicting ones included", async () => {
  await using hq = await MemoryFleet.of();
  await hq.join("a", ["same"]);
  await hq.join("b", ["same", "other"]);
  const parts = { registry: hq.registry, fleet: hq.fleet, guard: async () => {}, reportOf };
  const { listRemotes } = remoteRoutes({ ...parts, checkUrl: async () => {} });
  const heardBy = (principal: Principal) =>
    listRemotes?.({ params: undefined, query: { down: "0" }, body: undefined }, asking(principal));
  expect(await heardBy(ADMIN)).toMatchObject([
    { name: "a", sessionIds: ["same"], status: "up", version: "1.2.3", load: 0.5, latencyMs: 12 },
    { name: "b", sessionIds: ["other"], conflicts: ["same"] },
  ]);
  const told = await heardBy(USER);
  expect(told).toMatchObject([
    { name: "a", sessionIds: [] },
    { name: "b", sessionIds: [] },
  ]);
  expect(JSON.stringify(told)).not.toMatch(/same|other/);
});

/** Cordons the remote "a", which answers the HQ's request with that. */
async function cordoned(status: number, answer: object): Promise<unknown> {
  await using hq = await MemoryFleet.of();
  const remote = await hq.join("a");
  const body = (async function* () {
    yield new TextEncoder().encode(JSON.stringify(answer));
  })();
  const sent: ClientResponse = { status, headers: new Map(), body };
  Object.assign(remote, { send: async () => sent });
  const parts = { registry: hq.registry, fleet: hq.fleet, guard: async () => {}, reportOf };
  const { cordonRemote } = remoteRoutes({ ...parts, checkUrl: async () => {} });
  const input = { params: { name: "a" }, query: undefined, body: { cordoned: true } };
  return await cordonRemote?.(input, asking(ADMIN)).catch((error: unknown) => error);
}

test("a remote that its HQ has cordoned is listed as cordoned at once", async () => {
  const answer = { success: true, machine: "a", cordoned: true };
  expect(await cordoned(200, answer)).toMatchObject({ remote: { name: "a", cordoned: true } });
});

test("a remote without support for cordon is named, with the remedy", async () => {
  const answer = { code: "not_found", error: "there is nothing at POST /api/cordon" };
  expect(await cordoned(404, answer)).toMatchObject({
    code: "not_found",
    message: "remote a cannot be cordoned: update it",
  });
});
