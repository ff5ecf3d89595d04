// What a server is in its fleet: nothing but itself, the HQ, or one of the remotes.
import { randomBytes } from "node:crypto";
import type { Audit } from "../audit/entry.ts";
import type { Config } from "../config/config.ts";
import { keptRemoteId } from "../hq/remote-id.ts";
import type { Routes } from "../http/route.ts";
import { Secret } from "../lib/secret.ts";
import type { Log } from "../log.ts";
import type { Metrics } from "../metrics.ts";
import type { SessionBackend } from "../sessions/backend.ts";
import type { ControlDir } from "../sessions/control-dir.ts";
import { enrol, type RemoteRole } from "./enrol.ts";
import type { Identity } from "./facts.ts";
import { openHeadquarters } from "./headquarters.ts";
import { ownSessions } from "./own-sessions.ts";
import type { Surroundings } from "./surroundings.ts";

/** What a server has and does because of its role; disposing it ends the backend. */
export type Role = AsyncDisposable & {
  readonly backend: SessionBackend;
  readonly routes: Routes;
  readonly identity: Pick<Identity, "remotes" | "remoteId" | "hqSessions" | "sharedInstanceId" | "running">;
  /** What an HQ proves itself with. */
  readonly machineToken: Secret | undefined;
  measure(metrics: Metrics): void;
  /** To be called when the server listens, with the address that other machines reach it at; to be disposed of first. */
  listening(url: string): AsyncDisposable;
};

export type RoleParts = {
  readonly config: Config;
  readonly surroundings: Surroundings;
  readonly controlDir: ControlDir;
  readonly instanceId: string;
  readonly audit: Audit;
  readonly log: Log;
};

const MACHINE_TOKEN_BYTES = 32;

export async function openRole(parts: RoleParts): Promise<Role> {
  const { config, surroundings, controlDir, log } = parts;
  const { role } = config;
  const own = (): Promise<SessionBackend> => ownSessions(config, surroundings, controlDir, log);
  if (role.kind === "hq") return hqRole(parts, role.hasSessions ? await own() : undefined);
  if (role.kind === "remote") return remoteRole(parts, role, await own());
  return alone(await own());
}

function alone(backend: SessionBackend): Role {
  return {
    ...{ backend, routes: {}, identity: {}, machineToken: undefined },
    measure: () => undefined,
    listening: () => new AsyncDisposableStack(),
    [Symbol.asyncDispose]: () => backend[Symbol.asyncDispose](),
  };
}

async function hqRole(parts: RoleParts, local: SessionBackend | undefined): Promise<Role> {
  const { version } = parts.surroundings;
  const headquarters = await openHeadquarters({ ...parts, local, version });
  const { fleet, registry, routes, instanceId: sharedInstanceId } = headquarters;
  return {
    ...alone(fleet),
    routes,
    identity: {
      ...{ hqSessions: local !== undefined, sharedInstanceId },
      remotes: () => registry.size,
      running: () => fleet.running,
    },
    measure: (metrics) => {
      metrics.gauge("remotes", "Remotes that are registered.", () => registry.size);
      metrics.gauge("uplinks", "Open connections to remotes: at most one for each.", () => fleet.uplinks);
    },
    [Symbol.asyncDispose]: () => headquarters[Symbol.asyncDispose](),
  };
}

async function remoteRole(parts: RoleParts, role: RemoteRole, backend: SessionBackend): Promise<Role> {
  const { config, controlDir, log } = parts;
  const remoteId = await keptRemoteId(controlDir.remoteId, role.name);
  // Another one after every start (specification 5.5).
  const token = randomBytes(MACHINE_TOKEN_BYTES).toString("base64url");
  return {
    ...alone(backend),
    identity: { remoteId },
    machineToken: Secret.fromText(token),
    listening: (url) => {
      const identity = { id: remoteId, url: role.url ?? url, token };
      return enrol({ role, trustedCa: config.trustedCa, identity, backend, log });
    },
  };
}
