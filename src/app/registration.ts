// What makes a server a remote: it joins its HQ and stays in it.
import type { Config } from "../config/config.ts";
import { joinedSend } from "../hq/joining/joined-send.ts";
import { Registration } from "../hq/joining/registration.ts";
import type { RemoteKey } from "../hq/joining/remote-key.ts";
import type { Log } from "../log.ts";
import { createCaller } from "../protocol/client/caller.ts";
import { createSender } from "../remote/send.ts";
import type { UplinkTarget } from "../remote/uplink.ts";
import type { SessionBackend } from "../sessions/backend.ts";

export type RemoteRole = Extract<Config["role"], { kind: "remote" }>;

export type RegisteredRemote = AsyncDisposable & { readonly enrolment: Registration };

/** Joins the HQ, now and whenever it is needed, until it is disposed of. */
export function startRegistration(parts: {
  readonly role: RemoteRole;
  /** With which it proves itself, where it does so with a key. */
  readonly key: RemoteKey | undefined;
  readonly trustedCa: Uint8Array | undefined;
  readonly identity: { readonly id: string; readonly url: string; readonly token: string };
  readonly backend: SessionBackend;
  readonly log: Log;
}): RegisteredRemote {
  const { role, key, trustedCa, identity, backend, log } = parts;
  const sender = createSender(hqTarget(role, trustedCa));
  const now = (): number => Date.now();
  const { joinToken } = role.hq.key ?? {};
  const send = key === undefined ? sender.send : joinedSend({ send: sender.send, key, joinToken, now });
  const enrolment = new Registration({
    ...{ backend, log, hq: createCaller(send), random: Math.random, now },
    request: { ...identity, name: role.name },
  });
  return {
    enrolment,
    [Symbol.asyncDispose]: async () => {
      await enrolment[Symbol.asyncDispose]();
      sender[Symbol.dispose]();
    },
  };
}

function hqTarget({ hq }: RemoteRole, ca: Uint8Array | undefined): UplinkTarget {
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
