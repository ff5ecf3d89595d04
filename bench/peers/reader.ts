import { z } from "zod";
import { Child } from "../lib/child.ts";
import type { ReaderPeer } from "../lib/peer.ts";
import type { Work, Workshop } from "../lib/workshop.ts";

/** A deadline for all tasks of the readers. */
const READER_TIMEOUT_MS = 120_000;

const ReadResult = z.object({
  seconds: z.number(),
  bytes: z.number(),
  isWhole: z.boolean(),
  cpuSeconds: z.number(),
  peakBytes: z.number(),
});
export type ReadResult = z.infer<typeof ReadResult>;
const Times = z.object({ ns: z.array(z.number()).min(1) });
const Drained = z.object({ bytes: z.number() });

/** Reads a load to its end. Throws Error if a byte is missing. */
export async function readLoad(peer: ReaderPeer, workshop: Workshop, work: Work): Promise<ReadResult> {
  const result = await run(peer, workshop, ReadResult, ["read", String(work.bytes)], work);
  if (!result.isWhole) throw new Error(`${result.bytes} of ${work.bytes} bytes came`);
  return result;
}

/** Microseconds from a key to its echo. */
export async function readEcho(
  peer: ReaderPeer,
  workshop: Workshop,
  count: number,
  gapMs: number,
): Promise<number[]> {
  const { ns } = await run(
    peer,
    workshop,
    Times,
    ["echo", String(count), String(gapMs * 1000)],
    workshop.echo(),
  );
  return ns.map((time) => time / 1000);
}

/** Microseconds from the start of a program to its first byte. */
export async function readStart(peer: ReaderPeer, workshop: Workshop, count: number): Promise<number[]> {
  const { ns } = await run(peer, workshop, Times, ["start", String(count)], workshop.echo());
  return ns.map((time) => time / 1000);
}

/** The number of bytes until the end of the output. */
export async function readDrain(peer: ReaderPeer, workshop: Workshop, work: Work): Promise<number> {
  return (await run(peer, workshop, Drained, ["drain"], work)).bytes;
}

async function run<T>(
  peer: ReaderPeer,
  workshop: Workshop,
  schema: z.ZodType<T>,
  task: readonly string[],
  work: Work,
): Promise<T> {
  await using child = await Child.start([
    ...peer.command(workshop),
    ...task,
    workshop.program,
    ...work.words,
  ]);
  return schema.parse(JSON.parse(await child.output(READER_TIMEOUT_MS)));
}
