import type { Health } from "../../../src/protocol/schemas/health.ts";
import type { Credentials } from "./access.ts";
import type { TerminalLog } from "./failures/terminal-log.ts";
import type { ServerClient } from "./server-client.ts";
import type { WaitOptions } from "./wait.ts";

/** A server of a cluster and what can happen to it, in a container or as processes of this machine. */
export type Machine = {
  /** As its HQ calls it. */
  readonly name: string;
  /** The origin at which this machine reaches it; the same after a restart. */
  readonly url: string;
  /** The last megabyte of it. */
  readonly log: string;
  /** The end of the log, for the message of a failure. */
  readonly scene: string;
  /** Without a login. */
  readonly health: () => Promise<Health>;
  /** A client who is logged in, or another with other credentials. */
  readonly client: (credentials?: Credentials) => Promise<ServerClient>;
  /** Server and session host stop running until `unpause`; connections stay open. */
  readonly pause: () => Promise<void>;
  readonly unpause: () => Promise<void>;
  /** Nothing reaches its server and nothing comes from it until `reconnect`; its programs go on. */
  readonly disconnect: () => Promise<void>;
  readonly reconnect: () => Promise<void>;
  /** The server's process alone; it is started again. */
  readonly killServer: () => Promise<void>;
  /** Resolves when the server answers. */
  readonly ready: (options?: WaitOptions) => Promise<void>;
};

/** An HQ and its remotes. Disposing of it ends them with their programs. */
export type TestCluster = AsyncDisposable & {
  readonly hq: Machine;
  readonly remotes: readonly Machine[];
  /** For the choices of a test: TTYHQ_TEST_SEED, or drawn. */
  readonly seed: number;
  /** What the terminals of its clients show. */
  readonly terminals: TerminalLog;
  /** The ends of all logs. */
  readonly scene: string;
  readonly remote: (name: string) => Machine;
  /** Of the HQ. */
  readonly client: () => Promise<ServerClient>;
  /** Resolves when the HQ lists all remotes. */
  readonly registered: (options?: WaitOptions) => Promise<void>;
};
