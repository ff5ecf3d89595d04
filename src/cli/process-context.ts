import type { Readable, Writable } from "node:stream";
import type { RunningHost, RunningServer } from "../app.ts";
import type { Config, HostConfig } from "../config/config.ts";

export type OutputStream = Writable & {
  readonly isTTY?: boolean;
  readonly columns?: number;
  readonly rows?: number;
};

export type InputStream = Readable & {
  readonly isTTY?: boolean;
  setRawMode?(isRaw: boolean): unknown;
};

/** The program as a command: node, and main.ts or main.js. */
export type ProgramFiles = { readonly node: string; readonly main: string };

/** The state of the process at its start; only main.ts reads it. */
export type ProcessContext = {
  readonly argv: readonly string[];
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly cwd: string;
  readonly home: string;
  readonly user: string;
  readonly hostname: string;
  readonly version: string;
  readonly program: ProgramFiles;
  readonly stdin: InputStream;
  readonly stdout: OutputStream;
  readonly stderr: OutputStream;
};

export type Cli = ProcessContext & {
  /** Resolves when it serves; disposing stops it gracefully. */
  startServer(config: Config): Promise<RunningServer>;
  startSessionHost(config: HostConfig): Promise<RunningHost>;
  /** Replaces Node's own messages; an uncaught exception still ends the process. */
  reportFaults(to: {
    readonly warning: (warning: Error) => void;
    readonly uncaught: (error: unknown) => void;
  }): void;
  /** Starts the session host of a control directory unless one answers there; resolves when it serves. */
  ensureHost(config: HostConfig): Promise<void>;
};
