import { describe, expect, test } from "vitest";
import { isAlive, Probe, type RemoteHealth } from "../../../../src/hq/health/probe.ts";
import type { Registry } from "../../../../src/hq/registry/registry.ts";
import { HEALTH_CHECK_LATENESS_MS, HEALTH_CHECK_TIMEOUT_MS } from "../../../../src/protocol/limits.ts";
import { observationsOf } from "../../observations.ts";
import { memoryRegistry, registration } from "../memory-store.ts";

type Health = (url: string) => Promise<RemoteHealth>;

function probeOf(registry: Registry, health: Health, clock?: () => number) {
  const told: string[] = [];
  const probe = new Probe({
    registry,
    ask: ({ url }) => health(url),
    onAlive: ({ name }) => told.push(`${name} answers`),
    onSilent: ({ name }) => told.push(`${name} is silent`),
    clock,
  });
  return { probe, told };
}

const silence: Health = async () => {
  throw new Error("no answer");
};

describe("a look at all remotes", () => {
  test("keeps those that answer, and removes those that do not", async () => {
    const registry = await memoryRegistry();
    const { lastHeartbeat } = await registry.register(registration("a"));
    await registry.register(registration("b"));
    const { probe, told } = probeOf(registry, async (url) => (url === "http://a.test" ? {} : silence(url)));
    using _probe = probe;
    await probe.look();
    expect(registry.remotes.map(({ name }) => name)).toEqual(["a"]);
    expect(told.toSorted()).toEqual(["a answers", "b is silent"]);
    expect([...probe.results]).toEqual([
      [{ result: "alive" }, 1],
      [{ result: "silent" }, 1],
    ]);
    expect([(await observationsOf(probe.durations)).count, probe.removed]).toEqual([2, 1]);
    expect((registry.byName("a")?.lastHeartbeat ?? "") > lastHeartbeat).toBe(true);
  });

  test("removes one at whose address another one answers by now", async () => {
    const registry = await memoryRegistry();
    await registry.register(registration("a", { url: "http://same.test" }));
    await registry.register(registration("b", { url: "http://same.test" }));
    const { probe } = probeOf(registry, async () => ({ mode: "remote", remoteId: "id-of-b" }));
    using _probe = probe;
    await probe.look();
    expect(registry.remotes.map(({ name }) => name)).toEqual(["b"]);
  });

  test("leaves one alone that registered anew while it was asked", async () => {
    const registry = await memoryRegistry();
    await registry.register(registration("a"));
    const { probe, told } = probeOf(registry, async (url) => {
      await registry.register(registration("a", { url: "http://new.test" }));
      return silence(url);
    });
    using _probe = probe;
    await probe.look();
    expect(registry.byName("a")?.url).toBe("http://new.test");
    expect(told).toEqual([]);
  });

  test("asks all side by side: one that hangs keeps nobody waiting", async () => {
    const registry = await memoryRegistry();
    for (const name of ["a", "b", "c"]) await registry.register(registration(name));
    const asked: string[] = [];
    const hang = Promise.withResolvers<RemoteHealth>();
    const { probe, told } = probeOf(registry, (url) => {
      asked.push(url);
      return url === "http://a.test" ? hang.promise : Promise.resolve({});
    });
    using _probe = probe;
    const look = probe.look();
    await new Promise(setImmediate);
    expect(asked).toHaveLength(3);
    expect(told).toEqual(["b answers", "c answers"]);
    hang.resolve({});
    await look;
    expect(told).toHaveLength(3);
  });
});

describe("an answer that this process was too late for, because it stood still,", () => {
  const LATE_MS = HEALTH_CHECK_TIMEOUT_MS + HEALTH_CHECK_LATENESS_MS + 1;

  /** One look at a machine; of each question how long it took here, and whether it was answered in the end. */
  async function lookWith(questions: readonly { readonly tookMs: number; readonly isAnswered: boolean }[]) {
    const registry = await memoryRegistry();
    await registry.register(registration("a"));
    const clock = { ms: 0 };
    let asked = 0;
    const health: Health = async (url) => {
      const question = questions[asked];
      asked += 1;
      clock.ms += question?.tookMs ?? 0;
      return question?.isAnswered === true ? {} : await silence(url);
    };
    const { probe } = probeOf(registry, health, () => clock.ms);
    using _probe = probe;
    await probe.look();
    return { asked, left: registry.size, results: [...probe.results].map(([, count]) => count) };
  }

  test("says nothing of the remote, which is asked once more", async () => {
    const outcome = await lookWith([
      { tookMs: LATE_MS, isAnswered: false },
      { tookMs: 10, isAnswered: true },
    ]);
    expect(outcome).toEqual({ asked: 2, left: 1, results: [1, 0] });
  });

  test("and that does not come to the second question either, is none", async () => {
    const silent = { asked: 2, left: 0, results: [0, 1] };
    const late = { tookMs: LATE_MS, isAnswered: false };
    expect(await lookWith([late, { tookMs: 10, isAnswered: false }])).toEqual(silent);
    expect(await lookWith([late, late, { tookMs: 10, isAnswered: true }])).toEqual(silent);
  });

  test("is not what a remote gives that is only late itself: it is asked once", async () => {
    const outcome = await lookWith([
      { tookMs: LATE_MS - 1, isAnswered: false },
      { tookMs: 10, isAnswered: true },
    ]);
    expect(outcome).toEqual({ asked: 1, left: 0, results: [0, 1] });
  });

  test("counts when it comes all the same", async () => {
    expect(await lookWith([{ tookMs: LATE_MS, isAnswered: true }])).toMatchObject({ asked: 1, left: 1 });
  });
});

describe("a remote is alive", () => {
  const remote = { id: "id-of-a", url: "http://a.test", token: "t" };

  test("when it answers as itself, or does not say who it is", async () => {
    expect(await isAlive(async () => ({ remoteId: "id-of-a" }), remote)).toBe(true);
    expect(await isAlive(async () => ({}), remote)).toBe(true);
  });

  test("not when another one answers, or nobody", async () => {
    expect(await isAlive(async () => ({ remoteId: "other" }), remote)).toBe(false);
    expect(await isAlive(() => silence(""), remote)).toBe(false);
  });
});
