// What the recorders share: which files of src ran, and servers in this process.
import { Session as Inspector, type Profiler } from "node:inspector";
import { setTimeout as pause } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import type { startServer } from "../../../../src/app.ts";
import type { parseConfig } from "../../../../src/config/config.ts";

const SOURCE = new URL("../../../../src/", import.meta.url).href;

const QUIET_MS = 50;

/** Counts which files ran since it was last asked. */
export class Coverage {
  readonly #inspector = new Inspector();

  constructor() {
    this.#inspector.connect();
    this.#inspector.post("Profiler.enable");
    this.#inspector.post("Profiler.startPreciseCoverage", { callCount: true, detailed: false });
  }

  take(): ReadonlySet<string> {
    let taken: Profiler.ScriptCoverage[] = [];
    // The inspector of one's own thread answers before this returns.
    this.#inspector.post("Profiler.takePreciseCoverage", (error, { result }) => {
      if (error !== null) throw error;
      taken = result;
    });
    const hasRun = ({ functions }: Profiler.ScriptCoverage): boolean =>
      functions.some(({ ranges }) => (ranges[0]?.count ?? 0) > 0);
    const files = taken.filter((script) => script.url.startsWith(SOURCE) && hasRun(script));
    return new Set(files.map(({ url }) => url.slice(SOURCE.length)));
  }

  /** Waits until nothing has run for a while: what one run leaves to be done must not count as the next one's. */
  async settled(): Promise<void> {
    do {
      this.take();
      await pause(QUIET_MS);
    } while (this.take().size > 0);
  }
}

/** Flags of a server whose session host is in this process as well. */
export const OWN = { port: "0", bind: "127.0.0.1", auth: false, sessionHost: "external" } as const;

const quiet = { write: () => true };

/** `folder`: its home. */
export function contextIn(folder: string): Parameters<typeof startServer>[1] {
  return {
    ...{
      env: process.env,
      account: { user: "me", home: folder, shell: "/bin/sh" },
      isRoot: false,
      version: "0",
    },
    ...{ hostname: "here", node: process.execPath, main: fileURLToPath(`${SOURCE}main.ts`), pageDir: folder },
    ...{ stderr: quiet, stdout: process.stderr },
  };
}

export function inputIn(
  folder: string,
  flags: Readonly<Record<string, unknown>>,
): Parameters<typeof parseConfig>[0] {
  return {
    ...{
      flags: { controlDir: folder, ...flags },
      env: {},
      home: folder,
      cwd: folder,
      user: "me",
      hostname: "here",
    },
    readFile: () => new Uint8Array(),
  };
}
