import { expect, test } from "vitest";
import type { AuditEntry } from "../../../src/audit/entry.ts";
import { type AuditReceiver, Shipper } from "../../../src/audit/ship/shipper.ts";
import { stdoutReceiver } from "../../../src/audit/ship/stdout-receiver.ts";
import { messageOf } from "../../../src/audit/ship/syslog-receiver.ts";
import { bestTime } from "../../integration/harness/best-time.ts";
import { until } from "../until.ts";

/** A shipper with its entries and log messages. `deliver`: of its receiver. */
function shipping(deliver: AuditReceiver["deliver"]) {
  const entries: AuditEntry[] = [];
  const said: string[] = [];
  const say = (_: object, message: string): void => void said.push(message);
  const shipper = new Shipper({
    receiver: { name: "test", deliver, [Symbol.dispose]: () => undefined },
    audit: { write: (entry) => entries.push(entry) },
    log: { warn: say, info: say, error: say },
    // The shortest pauses.
    random: () => 1,
  });
  return { shipper, entries, said };
}

const lines = (count: number): readonly string[] =>
  Array.from({ length: count }, (_, index) => `line ${index}\n`);

test("lines are delivered in order and in batches, all of them before disposal ends", async () => {
  const batches: (readonly string[])[] = [];
  {
    const { shipper } = shipping(async (batch) => batches.push(batch) && batch.length);
    await using _shipper = shipper;
    for (const line of lines(1_200)) shipper.ship([line]);
  }
  expect(batches.map(({ length }) => length)).toEqual([500, 500, 200]);
  expect(batches.flat()).toEqual(lines(1_200));
});

test("only lines that a receiver did not accept are sent again", async () => {
  const taken: string[] = [];
  let tries = 0;
  const { shipper, said } = shipping(async (batch) => {
    tries += 1;
    if (tries <= 2) throw new Error("not now");
    taken.push(...batch.slice(0, 3));
    return 3;
  });
  {
    await using _shipper = shipper;
    shipper.ship(lines(9));
    // The pauses after failures count as well for the time in which a shipper has to stop.
    await until(() => taken.length === 9);
  }
  expect(taken).toEqual(lines(9));
  expect(said).toEqual(["audit receiver takes no lines", "audit receiver takes lines again"]);
  expect(shipper.counts).toEqual({ shipped: 9, dropped: 0 });
});

test("a hanging receiver loses only its own lines, and their number is recorded when it continues", async () => {
  const goesOn = Promise.withResolvers<void>();
  const taken: string[] = [];
  const { shipper, entries, said } = shipping(async (batch) => {
    await goesOn.promise;
    taken.push(...batch);
    return batch.length;
  });
  {
    await using _shipper = shipper;
    shipper.ship(lines(10_250));
    expect(shipper.counts).toEqual({ shipped: 0, dropped: 250 });
    goesOn.resolve();
  }
  expect(taken).toEqual(lines(10_000));
  expect(said).toEqual(["audit lines not shipped"]);
  expect(entries).toEqual([
    { action: "audit.unshipped", result: "failed", details: { receiver: "test", lost: 250 } },
  ]);
});

test("a receiver that never answers does not prevent a stop", async () => {
  const stop = async (): Promise<number> => {
    const { shipper, said } = shipping(() => new Promise(() => undefined));
    shipper.ship(lines(5));
    const start = performance.now();
    await shipper[Symbol.asyncDispose]();
    const tookMs = performance.now() - start;
    expect(said).toEqual(["audit lines not shipped"]);
    expect(shipper.counts).toEqual({ shipped: 0, dropped: 5 });
    return tookMs;
  };
  expect(await bestTime(4_000, stop)).toBeLessThan(4_000);
});

test("a syslog message has the result's severity, the action as its id and the line as its text", () => {
  const line = '{"seq":1,"prev":"0","time":"2026-11-21T18:02:11.402Z","action":"login","result":"refused"}\n';
  const message = messageOf(line, { hostname: "box", pid: 7 }).toString();
  expect(message).toBe(`<84>1 2026-11-21T18:02:11.402Z box ttyhq 7 login - ${line.trimEnd()}`);
  const broken = line.replace("login", "audit.break").replace("refused", "failed");
  expect(messageOf(broken, { hostname: "box", pid: 7 }).toString()).toMatch(/^<82>1 /);
});

test("lines that standard output did not accept are sent again", async () => {
  const problems = [new Error("EPIPE"), undefined];
  const receiver = stdoutReceiver({ write: (_, written) => written(problems.shift()) });
  await expect(receiver.deliver(["a\n"])).rejects.toThrow("EPIPE");
  expect(await receiver.deliver(["a\n"])).toBe(1);
});
