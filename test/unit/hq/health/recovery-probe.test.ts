import { expect, test } from "vitest";
import { Probe } from "../../../../src/hq/health/probe.ts";
import { RecoveryProbe } from "../../../../src/hq/health/recovery-probe.ts";
import {
  Registry,
  type RegistryStore,
  type RegistryStoreChange,
  type Remote,
} from "../../../../src/hq/registry/registry.ts";
import { Emitter } from "../../../../src/lib/async/emitter.ts";
import { MAX_SILENT_REMOTES, SILENT_REMOTE_MEMORY_MS } from "../../../../src/protocol/limits.ts";
import { memoryRegistry, registration } from "../memory-store.ts";

/** Of these machines all were removed; those with a name in `here` answer by now. */
async function removed(...names: readonly string[]) {
  const registry = await memoryRegistry();
  const clock = { ms: 0 };
  const here = new Set<string>();
  const asked: string[] = [];
  const ask = async ({ url }: { readonly url: string }) => {
    const name = new URL(url).hostname.replace(".test", "");
    asked.push(name);
    if (!here.has(name)) throw new Error("no answer");
    return { remoteId: `id-of-${name}` };
  };
  const returns = new RecoveryProbe({ registry, ask, clock: () => clock.ms });
  for (const name of names) {
    const remote = await registry.register(registration(name));
    await registry.expire(remote);
    returns.expect(remote);
  }
  return { registry, clock, here, asked, returns, [Symbol.dispose]: () => returns[Symbol.dispose]() };
}

function namesOf(registry: Registry): readonly string[] {
  return registry.remotes.map(({ name }) => name);
}

test("a machine that was removed and answers again is in the registry, as it was", async () => {
  using stage = await removed("a", "b");
  const { registry, returns, here, asked } = stage;
  await returns.look();
  expect(namesOf(registry)).toEqual([]);
  here.add("a");
  await returns.look();
  expect(registry.remotes).toMatchObject([registration("a")]);
  expect(registry.silent.map(({ name }) => name)).toEqual(["b"]);
  asked.length = 0;
  await returns.look();
  expect(asked).toEqual(["b"]);
});

test("who came back by itself, or whose name is another's by now, is left alone", async () => {
  using stage = await removed("a", "b");
  const { registry, returns, here } = stage;
  const a = await registry.register(registration("a", { url: "http://new.test" }));
  const b = await registry.register(registration("b", { id: "another", url: "http://other.test" }));
  for (const name of ["a", "b"]) here.add(name);
  await returns.look();
  expect(registry.remotes).toEqual([a, b]);
});

test("nobody is asked for longer than the silence is remembered, and no more than so many", async () => {
  const names = Array.from({ length: MAX_SILENT_REMOTES + 2 }, (_, index) => `m${index}`);
  using stage = await removed(...names);
  const { clock, asked, returns } = stage;
  await returns.look();
  expect(asked).toEqual(names.slice(2));
  clock.ms = SILENT_REMOTE_MEMORY_MS;
  await returns.look();
  expect(asked).toHaveLength(MAX_SILENT_REMOTES);
});

test("one that takes long to answer is not asked again meanwhile, and keeps nobody waiting", async () => {
  const registry = await memoryRegistry();
  const answers = new Map([["http://slow.test", Promise.withResolvers<object>()]]);
  let questions = 0;
  const ask = async ({ url }: { readonly url: string }) => {
    questions += 1;
    return (await answers.get(url)?.promise) ?? {};
  };
  using returns = new RecoveryProbe({ registry, ask });
  for (const name of ["slow", "quick"]) {
    const remote = await registry.register(registration(name));
    await registry.expire(remote);
    returns.expect(remote);
  }
  const first = returns.look();
  await returns.look();
  await new Promise(setImmediate);
  expect([questions, namesOf(registry)]).toEqual([2, ["quick"]]);
  answers.get("http://slow.test")?.resolve({});
  await first;
  expect(namesOf(registry)).toEqual(["quick", "slow"]);
});

test("one that answers before its removal is done is asked again when it is", async () => {
  const remote = { ...registration("a"), registeredAt: "", lastHeartbeat: "" };
  const [begun, done] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const changes = new Emitter<RegistryStoreChange>();
  const ledger: RegistryStore = {
    ...{ load: async () => [remote], silent: [], isConnected: true },
    put: async (kept) => void changes.emit({ kind: "kept", remote: kept }),
    drop: async ({ id }) => {
      begun.resolve();
      await done.promise;
      changes.emit({ kind: "dropped", id });
    },
    watch: (listener) => changes.on(listener),
  };
  const registry = await Registry.open({ ledger, isAlive: async () => false, now: () => new Date() });
  const here = new Set<string>();
  const ask = async ({ url }: { readonly url: string }) =>
    here.has(url) ? {} : Promise.reject(new Error("no answer"));
  using returns = new RecoveryProbe({ registry, ask });
  const onSilent = (silent: Remote): void => returns.expect(silent);
  using probe = new Probe({ registry, ask, onSilent, onAlive: () => {} });
  const looking = probe.look();
  await begun.promise;
  here.add(remote.url);
  await returns.look();
  done.resolve();
  await looking;
  await returns.look();
  expect(namesOf(registry)).toEqual(["a"]);
});
