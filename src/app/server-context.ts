import type { OutputStream } from "../audit/ship/stdout-receiver.ts";
import type { LogDestination } from "../log.ts";
import type { Account } from "../sessions/run-as/launch.ts";

/** What the process was started with, as values. */
export type ServerContext = {
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly account: Account;
  /** Whether the process may become every other user. */
  readonly isRoot: boolean;
  readonly version: string;
  /** What other machines call this one. */
  readonly hostname: string;
  /** How this program is started again as a session host: node and main.ts, or main.js. */
  readonly node: string;
  readonly main: string;
  /** The built page. */
  readonly pageDir: string;
  readonly stderr: LogDestination;
  /** Where `--audit-ship stdout` goes. */
  readonly stdout: OutputStream;
};
