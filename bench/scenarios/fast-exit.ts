import { ExpectedOutput } from "../lib/expected-output.ts";
import type { Peer } from "../lib/peer.ts";
import type { Scenario, Values } from "../lib/scenario.ts";
import { Stage } from "../lib/stage.ts";
import type { Work, Workshop } from "../lib/workshop.ts";
import { readDrain } from "../peers/reader.ts";

const PROGRAMS = 40;
const AT_ONCE = 4;
const MIN_BYTES = 20_000;
const MAX_BYTES = 300_000;

/** Whether the end of the output arrives from a program that exits at once. */
export const fastExit: Scenario = {
  name: "fast-exit",
  title: `${PROGRAMS} programs that print ${MIN_BYTES / 1000} to ${MAX_BYTES / 1000} KB and exit at once`,
  isOptional: false,
  metrics: [
    { name: "lost bytes", unit: `of ${PROGRAMS} programs`, digits: 0 },
    { name: "missing", unit: "bytes", digits: 0 },
  ],
  takes: () => true,
  run,
};

async function run(peer: Peer, workshop: Workshop): Promise<Values> {
  const works = Array.from({ length: PROGRAMS }, (_, i) =>
    workshop.burst(Math.round(MIN_BYTES + ((MAX_BYTES - MIN_BYTES) * i) / (PROGRAMS - 1))),
  );
  if (peer.kind === "reader") {
    const missing: number[] = [];
    for (const work of works) missing.push(wanted(work) - (await readDrain(peer, workshop, work)));
    return values(missing);
  }
  await using stage = await Stage.open(peer, workshop);
  const missing: number[] = [];
  while (works.length > 0) {
    missing.push(...(await Promise.all(works.splice(0, AT_ONCE).map((work) => missingBytes(stage, work)))));
  }
  return values(missing);
}

async function missingBytes(stage: Stage, work: Work): Promise<number> {
  const viewer = await stage.viewers.open(stage.server.session(work.words).first(), work.expectation);
  const sight = await viewer.wait("over");
  if (sight.error !== undefined) throw new Error(sight.error);
  await viewer.close();
  return wanted(work) - sight.position;
}

function wanted(work: Work): number {
  return new ExpectedOutput(work.expectation).length;
}

function values(missing: readonly number[]): Values {
  return {
    "lost bytes": missing.filter((bytes) => bytes !== 0).length,
    missing: missing.reduce((total, bytes) => total + bytes, 0),
  };
}
