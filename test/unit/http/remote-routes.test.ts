import { expect, test } from "vitest";
import type { Principal } from "../../../src/auth/principal.ts";
import { ALL, OWN } from "../../../src/auth/roles.ts";
import type { Context } from "../../../src/http/route.ts";
import { remoteRoutes } from "../../../src/http/routes/remote-routes.ts";
import { MemoryFleet } from "../hq/memory-fleet.ts";

const ADMIN: Principal = { user: "me", method: "token", rights: ALL };
const USER: Principal = { user: "ada", method: "token", rights: OWN, owner: "ada" };

const asking = (principal: Principal): Context => ({
  ...{ principal, identified: async () => undefined, address: undefined, accept: undefined },
  ...{ range: undefined, lastEventId: undefined, signal: new AbortController().signal },
});

test("users hear which machines there are, and of no session of others, not even of one that is hidden", async () => {
  await using hq = await MemoryFleet.of();
  await hq.join("a", ["same"]);
  await hq.join("b", ["same", "other"]);
  const parts = { registry: hq.registry, fleet: hq.fleet, guard: async () => {} };
  const { listRemotes } = remoteRoutes({ ...parts, refuseLoop: async () => {} });
  const heardBy = (principal: Principal) =>
    listRemotes?.({ params: undefined, query: undefined, body: undefined }, asking(principal));
  expect(await heardBy(ADMIN)).toMatchObject([
    { name: "a", sessionIds: ["same"] },
    { name: "b", sessionIds: ["other"], conflicts: ["same"] },
  ]);
  const told = await heardBy(USER);
  expect(told).toMatchObject([
    { name: "a", sessionIds: [] },
    { name: "b", sessionIds: [] },
  ]);
  expect(JSON.stringify(told)).not.toMatch(/same|other/);
});
