// What makes a server a remote: it joins its HQ and stays in it.
import type { Config } from "../config/config.ts";
import { Enrolment } from "../hq/enrolment.ts";
import type { Log } from "../log.ts";
import { createCaller } from "../protocol/caller.ts";
import { createSender } from "../remote/send.ts";
import type { UplinkTarget } from "../remote/uplink.ts";
import type { SessionBackend } from "../sessions/backend.ts";

export type RemoteRole = Extract<Config["role"], { kind: "remote" }>;

export type Enrolled = AsyncDisposable & { readonly enrolment: Enrolment };

/** Joins the HQ, now and whenever it is needed, until it is disposed of. */
export function enrol(parts: {
  readonly role: RemoteRole;
  readonly trustedCa: Uint8Array | undefined;
  readonly identity: { readonly id: string; readonly url: string; readonly token: string };
  readonly backend: SessionBackend;
  readonly log: Log;
}): Enrolled {
  const { role, trustedCa, identity, backend, log } = parts;
  const sender = createSender(hqTarget(role, trustedCa));
  const enrolment = new Enrolment({
    ...{ backend, log, hq: createCaller(sender.send), random: Math.random },
    request: { ...identity, name: role.name },
    now: () => Date.now(),
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
