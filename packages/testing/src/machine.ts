import type { Health } from "../../../src/protocol/schemas/health.ts";
import type { Credentials } from "./access.ts";
import type { TerminalLog } from "./failures/terminal-log.ts";
import type { ServerClient } from "./server-client.ts";
import type { WaitOptions } from "./wait.ts";

/** A server of a cluster with its faults, in a container or as processes of this machine. */
export type Machine = {
  /** Its name at the HQ. */
  readonly name: string;
  /** Its origin on this machine; the same after a restart. */
  readonly url: string;
  /** The last megabyte of it. */
  readonly log: string;
  /** The end of the log, for the message of a failure. */
  readonly scene: string;
  /** Without a login. */
  readonly health: () => Promise<Health>;
  /** A logged-in client, or one with other credentials. */
  readonly client: (credentials?: Credentials) => Promise<ServerClient>;
  /** Stops server and session host until `unpause`; connections stay open. */
  readonly pause: () => Promise<void>;
  readonly unpause: () => Promise<void>;
  /** Cuts its server off from the network until `reconnect`; its programs continue. */
  readonly disconnect: () => Promise<void>;
  readonly reconnect: () => Promise<void>;
  /** Kills only the server's process; it is restarted. */
  readonly killServer: () => Promise<void>;
  /** Resolves when the server answers. */
  readonly ready: (options?: WaitOptions) => Promise<void>;
};

/** An HQ and its remotes. Disposal ends them with their programs. */
export type TestCluster = AsyncDisposable & {
  readonly hq: Machine;
  readonly remotes: readonly Machine[];
  /** For random choices of a test: TTYHQ_TEST_SEED, or drawn. */
  readonly seed: number;
  /** The screens and frames of its clients' terminals. */
  readonly terminals: TerminalLog;
  /** The ends of all logs. */
  readonly scene: string;
  readonly remote: (name: string) => Machine;
  /** A client of the HQ. */
  readonly client: () => Promise<ServerClient>;
  /** Resolves when the HQ lists all remotes. */
  readonly registered: (options?: WaitOptions) => Promise<void>;
};
