// Two HQs behind one address, restarted one after the other, like an update: no session affinity, no lost byte.
import { expect, test } from "vitest";
import { withDeadline } from "../../../src/lib/async/deadline.ts";
import { Balancer } from "../harness/balancer.ts";
import { bestTime } from "../harness/best-time.ts";
import { HashingViewer } from "../harness/hashing-viewer.ts";
import { PacedProgram } from "../harness/paced-program.ts";
import { RedisServer } from "../harness/redis-server.ts";
import { IN_FULL, scaled } from "../harness/scale.ts";
import { TestFleet } from "../harness/test-fleet.ts";
import { OPEN, TestServer } from "../harness/test-server.ts";

const VIEWERS = scaled(200);
const BYTES_PER_SECOND = 50_000;
/** 100 bytes each. */
const LINES = scaled(10_000);
const WORST_STALL_MS = 3_000;
const END_TIMEOUT_MS = 180_000;

test("two HQs are restarted one after the other: their viewers lose no byte and get none twice", {
  timeout: 600_000,
}, async () => {
  // Checked only in long tests, because the duration depends on the machine.
  const worst = IN_FULL ? await bestTime(WORST_STALL_MS, worstStall) : await worstStall();
  if (!IN_FULL) return;
  console.log(
    `two HQs: the worst stall of ${VIEWERS} viewers in a rolling restart was ${Math.round(worst)} ms`,
  );
  expect(worst).toBeLessThan(WORST_STALL_MS);
});

/** The maximum of all viewers during a rolling restart, in ms. */
async function worstStall(): Promise<number> {
  await using redis = await RedisServer.start();
  await using program = await PacedProgram.prepare(LINES, BYTES_PER_SECOND);
  const secret = {
    TTYHQ_REGISTRY_URL: redis.url,
    TTYHQ_JWT_SECRET: "a secret of at least 32 bytes, as it were",
  };
  const hqArgs = ["--hq", ...OPEN];
  await using second = await TestServer.start({ asProcess: true, args: hqArgs, env: secret });
  await using fleet = await TestFleet.start({ asProcess: true, hqEnv: secret, dials: false });
  const { id } = await fleet.create("worker-1", { command: program.command });
  await using balancer = await Balancer.open([fleet.hq, second]);
  using owned = new DisposableStack();
  // With the delays of a real client.
  const viewers = Array.from({ length: VIEWERS }, () =>
    owned.use(new HashingViewer(balancer.url, id, { times: {} })),
  );
  program.waitFor(viewers);
  const stalls = viewers.map((viewer) => owned.use(new Stalls(viewer)));
  const ends = Promise.all(viewers.map((viewer) => viewer.ended));
  ends.catch(() => undefined);
  const advanced = (): Promise<unknown> =>
    Promise.all(viewers.map((viewer) => viewer.reached(viewer.next + BYTES_PER_SECOND / 2)));
  await advanced();
  for (const hq of [fleet.hq, second]) {
    expect(await hq.kill("SIGTERM")).toEqual({ code: 0, signal: null });
    await hq.restart();
    await advanced();
  }
  const hashes = await withDeadline(ends, END_TIMEOUT_MS, "the end of the stream");
  expect(hashes).toEqual(Array(VIEWERS).fill(program.expected));
  return Math.max(...stalls.map(({ worstMs }) => worstMs));
}

/** The longest time in which a viewer received nothing, from its first byte on. */
class Stalls implements Disposable {
  worstMs = 0;
  #lastAt: number | undefined;
  readonly #listening: Disposable;

  constructor(viewer: HashingViewer) {
    this.#listening = viewer.onTaken(() => {
      const now = performance.now();
      this.worstMs = Math.max(this.worstMs, now - (this.#lastAt ?? now));
      this.#lastAt = now;
    });
  }

  [Symbol.dispose](): void {
    this.#listening[Symbol.dispose]();
  }
}
