// What distinguishes the roles of a server, and the standalone server.
import type { AccessTokens } from "../auth/tokens/access-token.ts";
import type { Uplinks } from "../hq/joining/registration.ts";
import type { Routes } from "../http/route.ts";
import { repositoryRoutes } from "../http/routes/repository-routes.ts";
import type { AdmitTunnel } from "../http/upgrade.ts";
import type { SharedRecordStore } from "../lib/data/live-records.ts";
import type { Secret } from "../lib/secret.ts";
import type { Metrics } from "../metrics/metrics.ts";
import { ServiceError } from "../protocol/errors.ts";
import type { Health } from "../protocol/schemas/health.ts";
import type { SessionBackend } from "../sessions/backend.ts";
import type { CanaryMachine } from "./canary/machine-canary.ts";
import { Cordon } from "./cordon.ts";
import { ownSessions } from "./own-sessions.ts";
import { Readiness } from "./readiness.ts";
import type { ServerParts } from "./server-context.ts";
import { measureOwn } from "./server-metrics.ts";

/** The parts of a server that depend on its role. Owns the backend. */
export type Role = AsyncDisposable & {
  readonly backend: SessionBackend;
  readonly routes: (tokens: Pick<AccessTokens, "issueRemote">) => Routes;
  /** Members of the health; `sessions` only if their number is known without listing them. */
  readonly health: () => Partial<Health>;
  /** `undefined` if the server has no sessions of its own. */
  readonly cordon: Cordon | undefined;
  readonly machineToken?: Secret;
  /** Only of an HQ: admits remotes that dial. */
  readonly admitTunnel?: AdmitTunnel;
  /** Logins and share links that HQs with a shared registry have in common. */
  readonly records?: SharedRecordStore | undefined;
  /** Names of remotes; only of an HQ. */
  readonly remotes?: () => readonly string[];
  /** Remotes of an HQ, and this machine if it has sessions. */
  readonly machines: () => readonly CanaryMachine[];
  /** An HQ is ready whether or not its remotes are reachable. */
  readonly readiness: Readiness;
  measure(metrics: Metrics): void;
  /** Called when the server listens; `url`: for other machines. Disposed of first. */
  listening?(url: string, uplinks: () => Uplinks): AsyncDisposable;
};

/** A server with sessions of its own. */
export type OwnRole = Role & { readonly cordon: Cordon };

export async function openOwnRole({ config, context, controlDir, log }: ServerParts): Promise<OwnRole> {
  const own = await ownSessions(config, context, controlDir, log);
  const { backend, host } = own;
  const machine = config.role.kind === "remote" ? config.role.name : context.hostname;
  const cordon = new Cordon({ machine, path: controlDir.cordon, log });
  return {
    ...{ backend, cordon },
    health: () => (cordon.isCordoned ? { cordoned: true } : {}),
    machines: () => [{ name: machine, remoteId: undefined, isCordoned: cordon.isCordoned }],
    routes: () => ({ ...repositoryRoutes(own.repositories), ...cordon.routes() }),
    readiness: new Readiness({
      obstacle: () => (host?.isConnected === false ? noSessionHost() : undefined),
      leave: () => host?.leave(),
    }),
    measure: (metrics) => measureOwn(metrics, { ...own, cordon }),
    [Symbol.asyncDispose]: () => backend[Symbol.asyncDispose](),
  };
}

function noSessionHost(): ServiceError {
  const details = { status: "no_session_host" };
  return new ServiceError("host_unreachable", "there is no connection to the session host", { details });
}
