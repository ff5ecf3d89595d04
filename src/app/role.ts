// The role of a server: standalone, HQ or remote.
import { randomBytes } from "node:crypto";
import { connect } from "node:net";
import type { Duplex } from "node:stream";
import type { AccessTokens } from "../auth/tokens/access-token.ts";
import type { Config } from "../config/config.ts";
import { ConfigError } from "../config/config-error.ts";
import { PROOF_MISSING } from "../config/fleet-role.ts";
import { joinedSender } from "../hq/joining/joined-send.ts";
import { OutboundTunnel } from "../hq/joining/outbound-tunnel.ts";
import { Registration, type Uplinks } from "../hq/joining/registration.ts";
import { keptRemoteId, keptRemoteKey, type RemoteKey, remoteIdOf } from "../hq/joining/remote-key.ts";
import type { Routes } from "../http/route.ts";
import { repositoryRoutes } from "../http/routes/repository-routes.ts";
import type { AdmitTunnel } from "../http/upgrade.ts";
import type { SharedRecordStore } from "../lib/data/live-records.ts";
import { Secret } from "../lib/secret.ts";
import type { Log } from "../log.ts";
import type { Metrics } from "../metrics/metrics.ts";
import { createCaller } from "../protocol/client/caller.ts";
import { DIALLED_URL, LOCAL, tunnelPath } from "../protocol/schemas/remote.ts";
import { createSender } from "../remote/send.ts";
import { joinStreams } from "../remote/tunnel.ts";
import { type OriginTarget, openTunnel } from "../remote/uplink.ts";
import type { SessionBackend } from "../sessions/backend.ts";
import type { ControlDir } from "../sessions/storage/control-dir.ts";
import type { AuditLog } from "./auditing.ts";
import type { CanaryMachine } from "./canary/machine-canary.ts";
import { Cordon } from "./cordon.ts";
import { type HqRole, openHeadquarters } from "./headquarters.ts";
import type { Identity } from "./health.ts";
import { type OwnSessions, ownSessions } from "./own-sessions.ts";
import { Readiness } from "./readiness.ts";
import type { ServerContext } from "./server-context.ts";
import { measureFleet, measureOwn, measureRegistration } from "./server-metrics.ts";

/** The parts of a server that depend on its role. Owns the backend. */
export type Role = AsyncDisposable & {
  readonly backend: SessionBackend;
  readonly routes: (tokens: Pick<AccessTokens, "issueRemote">) => Routes;
  readonly identity: Omit<Identity, "version" | "mode" | "instanceId">;
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

type RoleParts = {
  readonly config: Config;
  readonly context: ServerContext;
  readonly controlDir: ControlDir;
  readonly instanceId: string;
  readonly audit: AuditLog;
  readonly log: Log;
};

const MACHINE_TOKEN_BYTES = 32;

export async function openRole(parts: RoleParts): Promise<Role> {
  const { config, context, controlDir, log } = parts;
  const { role } = config;
  const machine = role.kind === "remote" ? role.name : context.hostname;
  const own = async (): Promise<OwnServer> => ({
    ...(await ownSessions(config, context, controlDir, log)),
    cordon: new Cordon({ machine, path: controlDir.cordon, log }),
  });
  if (role.kind === "hq") return hqRole(parts, role, role.hasSessions ? ownRole(await own()) : undefined);
  if (role.kind === "remote") return remoteRole(parts, role, await own());
  return ownRole(await own());
}

type OwnServer = OwnSessions & { readonly cordon: Cordon };

/** A server with sessions of its own. */
function ownRole(own: OwnServer): Role {
  const { backend, host, repositories, cordon } = own;
  return {
    ...{ backend, cordon, identity: { cordon } },
    machines: () => [{ name: cordon.machine, remoteId: undefined, isCordoned: cordon.isCordoned }],
    routes: () => ({ ...repositoryRoutes(repositories), ...cordon.routes() }),
    readiness: new Readiness({ isServing: () => host?.isConnected !== false, leave: () => host?.leave() }),
    measure: (metrics) => measureOwn(metrics, own),
    [Symbol.asyncDispose]: () => backend[Symbol.asyncDispose](),
  };
}

/** `own`: the HQ's own sessions. Without them it has no repositories for users. */
async function hqRole(parts: RoleParts, role: HqRole, own: Role | undefined): Promise<Role> {
  const { version } = parts.context;
  const headquarters = await openHeadquarters({ ...parts, role, local: own?.backend, version });
  const { fleet, registry, instanceId: sharedInstanceId } = headquarters;
  const cordon = own?.cordon;
  return {
    ...headquarters,
    ...{ backend: fleet, cordon },
    remotes: () => registry.remotes.map(({ name }) => name),
    machines: () => [
      ...(cordon === undefined ? [] : [{ name: LOCAL, remoteId: LOCAL, isCordoned: cordon.isCordoned }]),
      ...registry.remotes.map(({ name, id: remoteId, cordoned: isCordoned = false }) => {
        return { name, remoteId, isCordoned };
      }),
    ],
    readiness: new Readiness({ leave: () => own?.readiness.drain() }),
    routes: (tokens) => ({ ...headquarters.routes(tokens), ...own?.routes(tokens) }),
    identity: {
      ...{ hqSessions: own !== undefined, sharedInstanceId, ...(cordon && { cordon }) },
      remotes: () => registry.size,
      running: () => fleet.running,
    },
    measure: (metrics) => {
      measureFleet(metrics, headquarters);
      own?.measure(metrics);
    },
  };
}

async function remoteRole(parts: RoleParts, role: RemoteRole, own: OwnServer): Promise<Role> {
  const { controlDir } = parts;
  const alone = ownRole(own);
  const key = await remoteKeyOf(role, controlDir);
  const remoteId =
    key === undefined ? await keptRemoteId(controlDir.remoteId, role.name) : remoteIdOf(key.publicKey);
  // New at every start (specification 5.5).
  const token = randomBytes(MACHINE_TOKEN_BYTES).toString("base64url");
  let registeredRemote: RegisteredRemote | undefined;
  return {
    ...alone,
    measure: (metrics) => {
      alone.measure(metrics);
      measureRegistration(metrics, () => registeredRemote?.registration);
    },
    identity: { ...alone.identity, remoteId },
    machineToken: Secret.fromText(token),
    listening: (url, uplinks) => {
      const identity = { id: remoteId, url: role.dials ? DIALLED_URL : (role.url ?? url), token };
      registeredRemote = startRegistration({ ...parts, ...own, role, key, identity, uplinks });
      return registeredRemote;
    },
  };
}

/** `undefined` if the remote uses the HQ's password or no credentials. Throws ConfigError. */
async function remoteKeyOf({ hq, name }: RemoteRole, controlDir: ControlDir): Promise<RemoteKey | undefined> {
  if (hq.key === undefined) return undefined;
  const mayMake = hq.key.joinToken !== undefined;
  const key = await keptRemoteKey(controlDir.remoteKey, { name, mayMake });
  if (key === undefined) throw new ConfigError([PROOF_MISSING]);
  return key;
}

type RemoteRole = Extract<Config["role"], { kind: "remote" }>;

type RegisteredRemote = AsyncDisposable & { readonly registration: Registration };

/** Keeps the remote registered with the HQ until disposal. */
function startRegistration(
  parts: Pick<RoleParts, "config" | "controlDir" | "log"> &
    Pick<OwnServer, "backend" | "cordon"> & {
      readonly role: RemoteRole;
      /** If the remote authenticates with a key. */
      readonly key: RemoteKey | undefined;
      readonly identity: { readonly id: string; readonly url: string; readonly token: string };
      readonly uplinks: () => Uplinks;
    },
): RegisteredRemote {
  const { config, controlDir, role, key, identity, backend, cordon, uplinks, log } = parts;
  const target = hqTarget(role, config.trustedCa);
  const sender = createSender(target);
  const now = (): number => Date.now();
  const random = Math.random;
  const { joinToken } = role.hq.key ?? {};
  const joined = key && joinedSender({ send: sender.send, key, joinToken, now });
  const accept = (connection: Duplex): void => joinStreams(connection, connect(controlDir.tunnelSocket));
  let tunnel: OutboundTunnel | undefined;
  // The HQ takes the tunnel of a registered remote only.
  const onRegistered = (): void => {
    tunnel ??= new OutboundTunnel({
      dial: async (signal) => {
        const authorization = await joined?.authorization();
        const headers = { ...target.headers, ...(authorization === undefined ? {} : { authorization }) };
        const path = tunnelPath(identity.id);
        return await openTunnel({ target: { ...target, headers }, path, accept }, signal);
      },
      ...{ log, random },
    });
    tunnel.wake();
  };
  const registration = new Registration({
    ...{ backend, uplinks, log, hq: createCaller(joined?.send ?? sender.send), random, now },
    request: { ...identity, name: role.name, labels: role.labels, cordoned: cordon.isCordoned },
    ...(role.dials ? { onRegistered } : {}),
  });
  const watching = cordon.watch((cordoned) => registration.update({ cordoned }));
  return {
    registration,
    [Symbol.asyncDispose]: async () => {
      watching[Symbol.dispose]();
      await registration[Symbol.asyncDispose]();
      await tunnel?.[Symbol.asyncDispose]();
      sender[Symbol.dispose]();
    },
  };
}

function hqTarget({ hq }: RemoteRole, ca: Uint8Array | undefined): OriginTarget {
  const { url, credentials } = hq;
  return {
    ...{ url, headers: credentials === undefined ? {} : { authorization: basic(credentials) } },
    ...(ca === undefined ? {} : { ca }),
  };
}

/** RFC 7617. */
function basic({ username, password }: NonNullable<RemoteRole["hq"]["credentials"]>): string {
  const pair = Buffer.concat([Buffer.from(`${username}:`), password.bytes()]);
  return `Basic ${pair.toString("base64")}`;
}
