import { describe, expect, test } from "vitest";
import { HealthCheck } from "../../../../src/hq/health/health-check.ts";
import type { Registry } from "../../../../src/hq/registry/registry.ts";
import type { Remote } from "../../../../src/hq/remote-state.ts";
import { observationsOf } from "../../observations.ts";
import { memoryRegistry, registration } from "../memory-store.ts";

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
