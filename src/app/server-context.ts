import type { OutputStream } from "../audit/ship/stdout-receiver.ts";
import type { LogDestination } from "../log.ts";
import type { Account } from "../sessions/run-as/launch-env.ts";

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
