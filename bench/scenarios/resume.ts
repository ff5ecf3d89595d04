import type { Peer, Session } from "../lib/peer.ts";
import { percentile } from "../lib/samples.ts";
import type { Metric, Scenario, Values } from "../lib/scenario.ts";
import { MIB, Stage, wholeUs } from "../lib/stage.ts";
import type { Work, Workshop } from "../lib/workshop.ts";

const LOAD_MIB = 128;
const BEHIND_MIB = [1, 100];
const RESUMES = 5;

/** How soon a viewer resumes after a lost connection, by a new connection from a known byte. */
export const resume: Scenario = {
  name: "resume",
  title: `Resume ${BEHIND_MIB.join(" and ")} MiB behind the end of ${LOAD_MIB} MiB, from connecting on`,
  isOptional: false,
  metrics: BEHIND_MIB.flatMap((behind): Metric[] => [
    { name: `${behind} MiB: first byte`, unit: "ms", digits: 1 },
    { name: `${behind} MiB: whole`, unit: "ms", digits: 1 },
    { name: `${behind} MiB: by RESYNC`, unit: `of ${RESUMES}`, digits: 0 },
  ]),
  takes: (peer) => peer.kind === "server" && peer.keepsSessions,
  run,
};

async function run(peer: Peer, workshop: Workshop): Promise<Values> {
  if (peer.kind !== "server") return {};
  const work = workshop.load("plain", LOAD_MIB);
  await using stage = await Stage.open(peer, workshop);
  const session = stage.server.session(work.words);
  const first = await stage.viewers.open(session.first(), work.expectation);
  await first.wait("ready");
  await stage.perform([first], true);
  const { position } = await first.sight();
  const values: Record<string, number> = {};
  for (const behind of BEHIND_MIB) {
    const resumes: Resume[] = [];
    for (let i = 0; i < RESUMES; i++)
      resumes.push(await resumeAt(stage, session, work, position - behind * MIB));
    values[`${behind} MiB: first byte`] = percentile(
      resumes.map((one) => one.firstMs),
      50,
    );
    values[`${behind} MiB: whole`] = percentile(
      resumes.map((one) => one.wholeMs),
      50,
    );
    values[`${behind} MiB: by RESYNC`] = resumes.filter((one) => one.resyncs > 0).length;
  }
  return values;
}

type Resume = { readonly firstMs: number; readonly wholeMs: number; readonly resyncs: number };

async function resumeAt(stage: Stage, session: Session, work: Work, from: number): Promise<Resume> {
  const viewer = await stage.viewers.open(session.next(from), work.expectation);
  const sight = await viewer.wait("whole");
  const { firstUs, resyncs } = sight;
  await viewer.close();
  if (firstUs === undefined) throw new Error("no output came");
  return {
    firstMs: (firstUs - viewer.beganUs) / 1000,
    wholeMs: (wholeUs(sight) - viewer.beganUs) / 1000,
    resyncs,
  };
}
