// What does not answer any more is gone within 20 s: a look every 15 s, of 5 s at most (contract 6.3).
import { expect, test } from "vitest";
import { FakeRemote } from "../harness/fake-remote.ts";
import type { ServerEvents } from "../harness/server-events.ts";
import { TestFleet } from "../harness/test-fleet.ts";

const GONE_WITHIN_MS = 20_000;

async function goneAfter(events: ServerEvents, name: string, started: number): Promise<number> {
  await events.first(({ type, remoteName }) => type === "remote-left" && remoteName === name);
  return performance.now() - started;
}

test("a remote that is stopped, killed, hanging or at an address of nobody is gone within 20 s; others stay", async () => {
  await using fleet = await TestFleet.start({ remotes: 3 });
  await using hanging = await FakeRemote.open((path) =>
    path === "/api/health" ? undefined : { status: 404 },
  );
  await using events = await fleet.events();
  const ids = new Map<string, string>();
  for (const { name } of await fleet.remotes()) {
    ids.set(name, (await fleet.create(name, { command: ["cat"] })).id);
  }
  for (const [name, url] of [
    ["nobody", "http://127.0.0.1:9"],
    ["hanging", hanging.url],
  ]) {
    const body = { id: name, name, url, token: "t" };
    expect((await fleet.ask("/api/remotes/register", { body })).status).toBe(200);
  }
  const started = performance.now();
  fleet.remote("worker-1").signal("SIGSTOP");
  await fleet.remote("worker-2").kill();
  const took = await Promise.all(
    ["worker-1", "worker-2", "nobody", "hanging"].map((name) => goneAfter(events, name, started)),
  );
  expect(Math.max(...took)).toBeLessThan(GONE_WITHIN_MS);
  expect((await fleet.remotes()).map(({ name }) => name)).toEqual(["worker-3"]);
  expect((await fleet.sessions()).map(({ id }) => id)).toEqual([ids.get("worker-3")]);
  for (const name of ["worker-1", "worker-2"]) {
    expect((await fleet.ask(`/api/sessions/${ids.get(name)}`)).status).toBe(404);
  }

  const past = new Set(events.all);
  const again = performance.now();
  fleet.remote("worker-1").signal("SIGCONT");
  await events.first((event) => !past.has(event) && event.type === "remote-joined");
  const tookMs = performance.now() - again;
  expect(tookMs).toBeLessThan(3_000);
  expect((await fleet.ask(`/api/sessions/${ids.get("worker-1")}`)).status).toBe(200);
});
