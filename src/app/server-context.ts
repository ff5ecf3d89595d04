import type { OutputStream } from "../audit/ship/stdout-receiver.ts";
import type { Config } from "../config/config.ts";
import type { Log, LogDestination } from "../log.ts";
import type { Account } from "../sessions/run-as/launch-env.ts";
import type { ControlDir } from "../sessions/storage/control-dir.ts";

/** The environment of the process, as values. */
export type ServerContext = {
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly account: Account;
  readonly isRoot: boolean;
  readonly version: string;
  /** For other machines. */
  readonly hostname: string;
  /** The command of the session host: node and main.ts, or main.js. */
  readonly node: string;
  readonly main: string;
  readonly pageDir: string;
  readonly stderr: LogDestination;
  /** Destination of `--audit-ship stdout`. */
  readonly stdout: OutputStream;
};

/** What the parts of a server have in common. */
export type ServerParts = {
  readonly config: Config;
  readonly context: ServerContext;
  readonly controlDir: ControlDir;
  /** New at every start. */
  readonly instanceId: string;
  readonly log: Log;
};
