// Measures ttyhq and its peers side by side; README.md beside this file describes it.
import { writeFileSync } from "node:fs";
import { parseArgs } from "node:util";
import { describeMachine } from "./lib/machine.ts";
import type { Peer } from "./lib/peer.ts";
import type { Scenario } from "./lib/scenario.ts";
import { table } from "./lib/table.ts";
import { type ScenarioTally, Tally } from "./lib/tally.ts";
import { Workshop } from "./lib/workshop.ts";
import { floor } from "./peers/floor.ts";
import { minimal } from "./peers/minimal.ts";
import { nodePty } from "./peers/node-pty.ts";
import { relay } from "./peers/relay.ts";
import { ttyd } from "./peers/ttyd.ts";
import { ttyhq } from "./peers/ttyhq.ts";
import { ttyhqHq, ttyhqHqs } from "./peers/ttyhq-hq.ts";
import { ttyhqInline } from "./peers/ttyhq-inline.ts";
import { echo } from "./scenarios/echo.ts";
import { fastExit } from "./scenarios/fast-exit.ts";
import { fleetJoin } from "./scenarios/fleet-join.ts";
import { fleetList } from "./scenarios/fleet-list.ts";
import { fleetSteady } from "./scenarios/fleet-steady.ts";
import { idle } from "./scenarios/idle.ts";
import { longList } from "./scenarios/long-list.ts";
import { page } from "./scenarios/page.ts";
import { previews } from "./scenarios/previews.ts";
import { resume } from "./scenarios/resume.ts";
import { scaleRemotes } from "./scenarios/scale/remotes.ts";
import { soak } from "./scenarios/soak.ts";
import { stalled } from "./scenarios/stalled.ts";
import { start } from "./scenarios/start.ts";
import { throughput } from "./scenarios/throughput.ts";
import { typing } from "./scenarios/typing.ts";
import { viewers } from "./scenarios/viewers.ts";
import { worktrees } from "./scenarios/worktrees.ts";

const DEFAULT_RUNS = 5;
const MAX_RUNS = 100;

const PEERS: readonly Peer[] = [floor, nodePty, minimal, ttyd, ttyhq, ttyhqInline, relay, ttyhqHq];
/** Only by name. */
const OPTIONAL_PEERS: readonly Peer[] = [ttyhqHqs];
const SCENARIOS: readonly Scenario[] = [
  throughput("plain"),
  throughput("ansi"),
  viewers({ name: "viewers", counts: [1, 10, 50], loadMib: 8, isOptional: false }),
  viewers({ name: "scale-viewers", counts: [100, 250, 500], loadMib: 1, isOptional: true }),
  ...[250, 500, 1_000, 2_000].map(scaleRemotes),
  echo,
  idle({ sessions: 100, isWatched: false, isOptional: false }),
  idle({ sessions: 1000, isWatched: true, isOptional: true }),
  start,
  fastExit,
  stalled,
  resume,
  previews,
  fleetList,
  fleetJoin,
  fleetSteady,
  soak,
  worktrees,
  page,
  typing,
  longList,
];

const USAGE = `node bench/main.ts [--runs N] [--only NAME,…] [--peers NAME,…] [--json FILE]

  --runs N       rounds of each scenario (${DEFAULT_RUNS})
  --only NAME,…  these scenarios; the beginning of a name will do:
                 ${SCENARIOS.map((scenario) => scenario.name + (scenario.isOptional ? " (only by name)" : "")).join(", ")}
  --peers NAME,… these peers: ${PEERS.map((peer) => peer.name).join(", ")}; only by name: ${OPTIONAL_PEERS.map((peer) => peer.name).join(", ")}
  --json FILE    write everything that was measured there too
`;

type Wanted = {
  runs: number;
  scenarios: readonly Scenario[];
  peers: readonly Peer[];
  json: string | undefined;
};

/** Throws Error with a readable sentence. */
function wanted(words: readonly string[]): Wanted | undefined {
  const { values } = parseArgs({
    args: [...words],
    options: {
      runs: { type: "string", default: String(DEFAULT_RUNS) },
      only: { type: "string" },
      peers: { type: "string" },
      json: { type: "string" },
      help: { type: "boolean", default: false },
    },
  });
  if (values.help) return undefined;
  const runs = Number(values.runs);
  if (!Number.isInteger(runs) || runs < 1 || runs > MAX_RUNS) throw new Error(`--runs is 1 to ${MAX_RUNS}`);
  const scenarios = values.only?.split(",").flatMap((name) => named(SCENARIOS, name));
  const peers = values.peers?.split(",").flatMap((name) => named([...PEERS, ...OPTIONAL_PEERS], name));
  return {
    runs,
    scenarios: scenarios ?? SCENARIOS.filter((scenario) => !scenario.isOptional),
    peers: peers ?? PEERS,
    json: values.json,
  };
}

function named<T extends { readonly name: string }>(all: readonly T[], name: string): readonly T[] {
  const exact = all.filter((one) => one.name === name);
  const found = exact.length > 0 ? exact : all.filter((one) => one.name.startsWith(name));
  if (found.length === 0) throw new Error(`there is no ${name}: ${all.map((one) => one.name).join(", ")}`);
  return found;
}

/** The peers that can take part; prints why the others cannot. */
async function installed(peers: readonly Peer[]): Promise<readonly Peer[]> {
  const reasons = await Promise.all(peers.map((peer) => peer.missing()));
  peers.forEach((peer, at) => {
    console.log(`- ${peer.name}: ${reasons[at] === undefined ? peer.about : `left out, ${reasons[at]}`}`);
  });
  return peers.filter((_, at) => reasons[at] === undefined);
}

/** Rounds of all peers in rotated order (A B C, B C A, …), so that noise affects all alike. */
async function measure(
  scenario: Scenario,
  peers: readonly Peer[],
  runs: number,
  workshop: Workshop,
  stopping: AbortSignal,
): Promise<ScenarioTally> {
  const takers = peers.filter((peer) => scenario.takes(peer));
  const tally = new Tally(
    scenario,
    takers.map((peer) => peer.name),
  );
  for (let round = 1; round <= runs && !stopping.aborted; round++) {
    const at = round % Math.max(1, takers.length);
    for (const peer of [...takers.slice(at), ...takers.slice(0, at)]) {
      if (stopping.aborted) break;
      if (process.stderr.isTTY)
        process.stderr.write(`\x1b[K${scenario.name} ${round}/${runs} ${peer.name}\r`);
      try {
        tally.add(peer.name, round, await scenario.run(peer, workshop));
      } catch (error) {
        tally.fail(peer.name, round, error);
      }
    }
  }
  return tally.result();
}

async function main(words: readonly string[]): Promise<void> {
  const asked = wanted(words);
  if (asked === undefined) {
    process.stdout.write(USAGE);
    return;
  }
  const machine = describeMachine();
  const { cores, model, memoryGiB, kernel, node, loadBefore } = machine;
  console.log(
    `${cores} cores (${model}), ${memoryGiB} GiB, ${kernel}, Node ${node}, load before ${loadBefore}`,
  );
  console.log(`${asked.runs} rounds; each cell: median (least to most)\n`);
  const peers = await installed(asked.peers);
  const tallies: ScenarioTally[] = [];
  // The current round ends first: it knows its processes.
  const stop = new AbortController();
  for (const signal of ["SIGINT", "SIGTERM"] as const) process.once(signal, () => stop.abort());
  await using workshop = await Workshop.open();
  for (const scenario of asked.scenarios) {
    const tally = await measure(scenario, peers, asked.runs, workshop, stop.signal);
    tallies.push(tally);
    console.log(`\n${table(scenario, tally)}`);
  }
  if (asked.json === undefined) return;
  const result = { machine, date: new Date().toISOString(), runs: asked.runs, scenarios: tallies };
  writeFileSync(asked.json, `${JSON.stringify(result, rounded, 2)}\n`);
}

/** No measurement has more than six significant digits. */
function rounded(_: string, value: unknown): unknown {
  return typeof value === "number" ? Number(value.toPrecision(6)) : value;
}

await main(process.argv.slice(2)).catch((error: unknown) => {
  console.error(error instanceof Error ? error.message : error);
  process.exitCode = 1;
});
