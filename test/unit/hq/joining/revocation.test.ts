// A remote whose key is revoked leaves, and needs a new token (docs/hq.md, Joining).
import { generateKeyPairSync } from "node:crypto";
import { expect, test } from "vitest";
import type { Principal } from "../../../../src/auth/principal.ts";
import { ALL } from "../../../../src/auth/roles.ts";
import { Joining } from "../../../../src/hq/joining/joining.ts";
import { joinRequest, remoteIdOf } from "../../../../src/hq/joining/remote-key.ts";
import { TablesFile } from "../../../../src/hq/registry/tables-file.ts";
import type { Context } from "../../../../src/http/route.ts";
import { joinRoutes, registrationGuard } from "../../../../src/http/routes/join-routes.ts";
import { remoteRoutes } from "../../../../src/http/routes/remote-routes.ts";
import { ServiceError } from "../../../../src/protocol/errors.ts";
import { CreateJoinToken } from "../../../../src/protocol/schemas/join.ts";
import { MemoryFleet, settled } from "../memory-fleet.ts";
import { MemoryStore, registration, SEAL } from "../memory-store.ts";

const asking = (principal: Principal): Context => ({
  ...{ principal, identified: async () => undefined, address: undefined, accepts: () => false },
  ...{ range: undefined, lastEventId: undefined, signal: new AbortController().signal },
});
const ADMIN = asking({ user: "me", method: "token", rights: ALL });

const openFleet = () => MemoryFleet.of({ isAlive: async () => true });

/** The remote "a" has joined. */
async function joined(hq: MemoryFleet) {
  const tables = new TablesFile({ file: new MemoryStore() });
  await tables.load();
  const joining = new Joining({
    ...{ tables, seal: SEAL, configured: undefined, hqId: () => "hq", now: () => Date.now() },
  });
  const { token: joinToken } = await joining.createToken(CreateJoinToken.parse({ name: "a" }), "me");
  const { privateKey, publicKey } = generateKeyPairSync("ed25519");
  const x = publicKey.export({ format: "jwk" }).x ?? "";
  const request = joinRequest({ name: "a", publicKey: x, privateKey }, { hqId: "hq", timestamp: Date.now() });
  await joining.join({ ...request, joinToken });
  const id = remoteIdOf(x);
  const asRemote = asking({ user: "remote:a", method: "remote", rights: { kind: "remote", id, name: "a" } });
  const loopCheck = { gate: Promise.resolve() };
  const guard = registrationGuard(joining, { isBasicTaken: false });
  const routes = {
    ...remoteRoutes({
      ...{ registry: hq.registry, fleet: hq.fleet, guard, reportOf: () => undefined },
      checkUrl: () => loopCheck.gate,
    }),
    ...joinRoutes(joining, { issueRemote: () => ({ token: "", expiresIn: 0 }) }, hq.registry),
  };
  const register = (): Promise<unknown> =>
    Promise.resolve(
      routes.registerRemote?.(
        { params: undefined, query: undefined, body: registration("a", { id }) },
        asRemote,
      ),
    );
  const revoke = (): Promise<unknown> =>
    Promise.resolve(
      routes.revokeRemoteKey?.({ params: { name: "a" }, query: undefined, body: undefined }, ADMIN),
    );
  return { tables, register, revoke, loopCheck };
}

const names = ({ registry }: MemoryFleet) => registry.remotes.map(({ name }) => name);

test("a remote that is revoked while the HQ checks its url is refused, and not listed", async () => {
  await using hq = await openFleet();
  const { register, revoke, loopCheck } = await joined(hq);
  const checked = Promise.withResolvers<void>();
  loopCheck.gate = checked.promise;
  const registering = register();
  await settled();
  await revoke();
  checked.resolve();
  await expect(registering).rejects.toMatchObject({ code: "forbidden" });
  expect(names(hq)).toEqual([]);
});

test("a revocation whose reply from the store is lost can be repeated, and then the remote leaves", async () => {
  await using hq = await openFleet();
  const { tables, register, revoke } = await joined(hq);
  await register();
  const commit = tables.commit.bind(tables);
  tables.commit = async (changes) => {
    await commit(changes);
    throw new ServiceError("registry_unavailable", "it is not known whether the change was made");
  };
  await expect(revoke()).rejects.toMatchObject({ code: "registry_unavailable" });
  tables.commit = commit;
  await revoke();
  await expect(register()).rejects.toMatchObject({ code: "forbidden" });
  expect(names(hq)).toEqual([]);
});

test("revoking the key of a remote that has neither key nor registration fails", async () => {
  await using hq = await openFleet();
  const { revoke } = await joined(hq);
  await revoke();
  await expect(revoke()).rejects.toMatchObject({ code: "remote_not_found" });
});

test("revoking the key of a remote that registered without one fails, and it stays", async () => {
  await using hq = await openFleet();
  const { revoke } = await joined(hq);
  await revoke();
  await hq.join("a");
  await expect(revoke()).rejects.toMatchObject({ code: "remote_not_found" });
  expect(names(hq)).toEqual(["a"]);
});
