// A remote: a server that keeps itself registered with an HQ.
import { randomBytes } from "node:crypto";
import { connect } from "node:net";
import type { Duplex } from "node:stream";
import type { Config } from "../config/config.ts";
import { ConfigError } from "../config/config-error.ts";
import { PROOF_MISSING } from "../config/fleet-role.ts";
import { joinedSender } from "../hq/joining/joined-send.ts";
import { OutboundTunnel } from "../hq/joining/outbound-tunnel.ts";
import { Registration, type Uplinks } from "../hq/joining/registration.ts";
import { keptRemoteId, keptRemoteKey, type RemoteKey, remoteIdOf } from "../hq/joining/remote-key.ts";
import { Secret } from "../lib/secret.ts";
import { createCaller } from "../protocol/client/caller.ts";
import { DIALLED_URL, tunnelPath } from "../protocol/schemas/remote.ts";
import { createSender } from "../remote/send.ts";
import { joinStreams } from "../remote/tunnel.ts";
import { type OriginTarget, openTunnel } from "../remote/uplink.ts";
import type { ControlDir } from "../sessions/storage/control-dir.ts";
import type { OwnRole, Role } from "./role.ts";
import type { ServerParts } from "./server-context.ts";

const MACHINE_TOKEN_BYTES = 32;

type RemoteRole = Extract<Config["role"], { kind: "remote" }>;

/** `own`: its sessions. Throws ConfigError. */
export async function openRemote(parts: ServerParts, role: RemoteRole, own: OwnRole): Promise<Role> {
  const { controlDir } = parts;
  const key = await remoteKeyOf(role, controlDir);
  const remoteId =
    key === undefined ? await keptRemoteId(controlDir.remoteId, role.name) : remoteIdOf(key.publicKey);
  // New at every start (specification 5.5).
  const token = randomBytes(MACHINE_TOKEN_BYTES).toString("base64url");
  let registration: Registration | undefined;
  return {
    ...own,
    measure: (metrics) => {
      own.measure(metrics);
      metrics.gauge(
        "registered",
        "Whether the HQ knows this remote: 1, or 0.",
        () => registration?.isRegistered === true,
      );
      metrics.counter(
        "registration_attempts_total",
        "Attempts of this remote to register with its HQ.",
        () => registration?.registrations ?? [],
      );
    },
    health: () => ({ ...own.health(), remoteId }),
    machineToken: Secret.fromText(token),
    listening: (url, uplinks) => {
      const identity = { id: remoteId, url: role.dials ? DIALLED_URL : (role.url ?? url), token };
      const stack = new AsyncDisposableStack();
      registration = register({ ...parts, role, own, key, identity, uplinks }, stack);
      return stack;
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

/** Keeps the remote registered with the HQ until the stack is disposed of. */
function register(
  parts: ServerParts & {
    readonly role: RemoteRole;
    readonly own: OwnRole;
    /** If the remote authenticates with a key. */
    readonly key: RemoteKey | undefined;
    readonly identity: { readonly id: string; readonly url: string; readonly token: string };
    readonly uplinks: () => Uplinks;
  },
  stack: AsyncDisposableStack,
): Registration {
  const { config, controlDir, role, key, identity, uplinks, log } = parts;
  const { backend, cordon } = parts.own;
  const target = hqTarget(role, config.trustedCa);
  const sender = stack.use(createSender(target));
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
  stack.defer(() => tunnel?.[Symbol.asyncDispose]());
  const registration = stack.use(
    new Registration({
      ...{ backend, uplinks, log, hq: createCaller(joined?.send ?? sender.send), random, now },
      request: { ...identity, name: role.name, labels: role.labels, cordoned: cordon.isCordoned },
      ...(role.dials ? { onRegistered } : {}),
    }),
  );
  stack.use(cordon.watch((cordoned) => registration.update({ cordoned })));
  return registration;
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
