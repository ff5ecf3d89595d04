import type { Readable, Writable } from "node:stream";
import type { Config, HostConfig } from "../config/config.ts";

/** Standard output and error: a terminal, a pipe, or what a test reads. */
export type OutputStream = Writable & {
  readonly isTTY?: boolean;
  readonly columns?: number;
  readonly rows?: number;
};

export type InputStream = Readable & {
  readonly isTTY?: boolean;
  setRawMode?(isRaw: boolean): unknown;
};

/** How this program is started again: node, and main.ts or main.js. */
export type ProgramFiles = { readonly node: string; readonly main: string };

/** What the process was started with, as values: main.ts alone reads them from the process. */
export type ProcessContext = {
  /** Without the program and the script. */
  readonly argv: readonly string[];
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly cwd: string;
  readonly home: string;
  readonly user: string;
  /** What other machines call this one. */
  readonly hostname: string;
  readonly version: string;
  readonly program: ProgramFiles;
  readonly stdin: InputStream;
  readonly stdout: OutputStream;
  readonly stderr: OutputStream;
};

export type RunningServer = AsyncDisposable & {
  readonly url: string;
  /** Logs in once; there where one was asked for. */
  readonly loginLink: string | undefined;
  /** Where the server itself is found on this machine, where `url` is that of its reverse proxy. */
  readonly behind?: string | undefined;
};

export type RunningHost = AsyncDisposable & {
  /** Whether nothing runs in it and nobody is connected. */
  readonly idle: () => Promise<boolean>;
};

/** What the commands set in motion; put together in main.ts. */
export type Parts = {
  /** Resolves when it serves; disposing it stops it in good order. */
  startServer(config: Config): Promise<RunningServer>;
  startSessionHost(config: HostConfig): Promise<RunningHost>;
  /** From now on these are told of what Node would print; an exception that nobody catches ends the process nevertheless. */
  reportFaults(to: {
    readonly warning: (warning: Error) => void;
    readonly uncaught: (error: unknown) => void;
  }): void;
  /** Starts the session host of a control directory unless one answers there; resolves when it serves. */
  ensureHost(config: HostConfig): Promise<void>;
};

export type Cli = ProcessContext & Parts;
