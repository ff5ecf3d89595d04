// Compares session starts of two builds: `node bench/start-pairs.ts OTHER/dist/main.js [ROUNDS]` after a build.
import { readdirSync, readFileSync } from "node:fs";
import { setTimeout as pause } from "node:timers/promises";
import { percentile } from "./lib/samples.ts";
import { ViewerProcess } from "./lib/viewer-process.ts";
import { Workshop } from "./lib/workshop.ts";
import { sessionsAt } from "./peers/ttyhq.ts";
import { MAIN, TtyhqProcess } from "./peers/ttyhq-process.ts";

const STARTS = 40;
const DEFAULT_ROUNDS = 6;
/** The first session starts the git worker, which is not part of the others. */
const WORKER_START_MS = 700;
const NANOSECONDS_PER_MS = 1e6;

/** Of all sessions after the first. */
type Measured = {
  readonly first: number;
  readonly p50: number;
  readonly server: number;
  readonly host: number;
};

class Build implements AsyncDisposable {
  readonly #process: TtyhqProcess;
  readonly #viewers = new ViewerProcess();
  readonly #session: ReturnType<typeof sessionsAt>;
  readonly #work: ReturnType<Workshop["echo"]>;
  readonly #times: number[] = [];
  #cpuBefore: readonly number[] = [];

  static async start(main: string, workshop: Workshop): Promise<Build> {
    return new Build(await TtyhqProcess.start([], main), workshop);
  }

  private constructor(process: TtyhqProcess, workshop: Workshop) {
    this.#process = process;
    this.#session = sessionsAt(process.port, workshop);
    this.#work = workshop.echo();
  }

  async startOne(): Promise<void> {
    const { words, expectation } = this.#work;
    const viewer = await this.#viewers.open(this.#session(words).first(), expectation);
    const { firstUs = Number.NaN } = await viewer.wait("ready");
    this.#times.push((firstUs - viewer.beganUs) / 1000);
  }

  noteCpu(): void {
    this.#cpuBefore = this.#process.pids.map(cpuMs);
  }

  measured(): Measured {
    const [first = Number.NaN, ...times] = this.#times;
    const [server = 0, host = 0] = this.#process.pids.map(
      (pid, at) => (cpuMs(pid) - (this.#cpuBefore[at] ?? 0)) / times.length,
    );
    return { first, p50: percentile(times, 50), server, host };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#viewers[Symbol.dispose]();
    await this.#process[Symbol.asyncDispose]();
  }
}

/**
 * CPU time of all current threads of a process, in nanoseconds: the ticks of /proc/PID/stat are longer than a start.
 */
function cpuMs(pid: number): number {
  const spent = readdirSync(`/proc/${pid}/task`).map((thread) => {
    const [ran] = readFileSync(`/proc/${pid}/task/${thread}/schedstat`, "utf8").split(" ");
    return Number(ran) / NANOSECONDS_PER_MS;
  });
  return spent.reduce((sum, each) => sum + each, 0);
}

/** The builds alternate at every session, so that other load affects both. */
async function round(mains: readonly string[], workshop: Workshop): Promise<readonly Measured[]> {
  await using stack = new AsyncDisposableStack();
  const builds: Build[] = [];
  for (const main of mains) builds.push(stack.use(await Build.start(main, workshop)));
  for (const build of builds) {
    await build.startOne();
    await pause(WORKER_START_MS);
  }
  for (const build of builds) build.noteCpu();
  for (let started = 1; started < STARTS; started++)
    for (const build of started % 2 === 0 ? builds : builds.toReversed()) await build.startOne();
  return builds.map((build) => build.measured());
}

const [other = MAIN, rounds = String(DEFAULT_ROUNDS)] = process.argv.slice(2);
await using workshop = await Workshop.open();
const all: (readonly Measured[])[] = [];
for (let at = 0; at < Number(rounds); at++) {
  const isTurned = at % 2 === 1;
  const measured = await round(isTurned ? [MAIN, other] : [other, MAIN], workshop);
  all.push(isTurned ? measured.toReversed() : measured);
}
for (const [name, of] of [
  ["first session, ms", (each: Measured) => each.first],
  ["p50 of the others, ms", (each: Measured) => each.p50],
  ["CPU of the server, ms each", (each: Measured) => each.server],
  ["CPU of the session host, ms each", (each: Measured) => each.host],
] as const) {
  const pairs = all.map((pair) => pair.map(of));
  const median = (at: number): string =>
    percentile(
      pairs.map((pair) => pair[at] ?? 0),
      50,
    ).toFixed(2);
  const ratios = pairs.map(([before = 0, now = 0]) => now / before);
  const [low, mid, high] = [25, 50, 75].map((part) => percentile(ratios, part).toFixed(2));
  console.log(`${name}: ${median(0)}, here ${median(1)}; ratio of pairs ${mid} (${low} to ${high})`);
}
