import { describe, expect, test } from "vitest";
import { HealthCheck } from "../../../../src/hq/health/health-check.ts";
import { Registry } from "../../../../src/hq/registry/registry.ts";
import { TablesFile } from "../../../../src/hq/registry/tables-file.ts";
import type { Remote } from "../../../../src/hq/remote-state.ts";
import { observationsOf } from "../../observations.ts";
import { MemoryStore, memoryRegistry, registration, SEAL } from "../memory-store.ts";

function healthCheckOf(registry: Registry, isAlive: (remote: Remote) => Promise<boolean>) {
  const told: string[] = [];
  const check = new HealthCheck({
    ...{ registry, isAlive },
    onAlive: ({ name }) => told.push(`${name} answers`),
    onDown: ({ name }) => told.push(`${name} is down`),
  });
  return { check, told };
}

describe("a check of all remotes", () => {
  test("keeps remotes that answer and removes the others", async () => {
    const registry = await memoryRegistry();
    const { lastHeartbeat } = await registry.register(registration("a"));
    await registry.register(registration("b"));
    const { check, told } = healthCheckOf(registry, async ({ name }) => name === "a");
    using _ = check;
    await check.check();
    expect(registry.remotes.map(({ name }) => name)).toEqual(["a"]);
    expect(told.toSorted()).toEqual(["a answers", "b is down"]);
    expect([...check.results]).toEqual([
      [{ result: "alive" }, 1],
      [{ result: "silent" }, 1],
    ]);
    expect([(await observationsOf(check.durations)).count, check.removed]).toEqual([2, 1]);
    expect((registry.byName("a")?.lastHeartbeat ?? "") > lastHeartbeat).toBe(true);
  });

  test("keeps a remote that registered again during its check", async () => {
    const registry = await memoryRegistry();
    await registry.register(registration("a"));
    const { check, told } = healthCheckOf(registry, async () => {
      await registry.register(registration("a", { url: "http://new.test" }));
      return false;
    });
    using _ = check;
    await check.check();
    expect(registry.byName("a")?.url).toBe("http://new.test");
    expect(told).toEqual([]);
  });

  test("counts and reports no removal of a remote that another HQ of the registry registered meanwhile", async () => {
    const store = new MemoryStore();
    const parts = { tables: new TablesFile({ file: store }), seal: SEAL, isAlive: async () => false };
    const [registry, other] = [
      await Registry.open({ ...parts, now: () => new Date() }),
      await Registry.open({ ...parts, now: () => new Date(Date.now() + 1_000) }),
    ];
    await registry.register(registration("a"));
    const written = Promise.withResolvers<void>();
    const { check, told } = healthCheckOf(registry, async () => {
      store.disk = written.promise;
      void other.register(registration("a"));
      setImmediate(written.resolve);
      return false;
    });
    using _ = check;
    await check.check();
    expect(registry.remotes.map(({ name }) => name)).toEqual(["a"]);
    expect([told, check.removed]).toEqual([[], 0]);
  });

  test("checks all concurrently, so that a hanging remote does not delay others", async () => {
    const registry = await memoryRegistry();
    for (const name of ["a", "b", "c"]) await registry.register(registration(name));
    const asked: string[] = [];
    const hang = Promise.withResolvers<boolean>();
    const { check, told } = healthCheckOf(registry, ({ name }) => {
      asked.push(name);
      return name === "a" ? hang.promise : Promise.resolve(true);
    });
    using _ = check;
    const checking = check.check();
    await new Promise(setImmediate);
    expect(asked).toHaveLength(3);
    expect(told).toEqual(["b answers", "c answers"]);
    hang.resolve(true);
    await checking;
    expect(told).toHaveLength(3);
  });
});
