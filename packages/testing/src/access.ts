// Which server is meant, and what proves to it who asks.
import type { UplinkTarget } from "../../../src/remote/uplink.ts";

export type Access = {
  /** An http(s) origin. */
  readonly url: string;
  /** Name and password for an HQ (RFC 7617), an access token for any server; none for one with `--no-auth`. */
  readonly credentials?: Credentials | undefined;
  /** The certificate authority to trust beside Node's own, PEM. */
  readonly ca?: string | Uint8Array | undefined;
};

export type Credentials =
  | { readonly username: string; readonly password: string }
  | { readonly token: string };

export function targetOf({ url, credentials, ca }: Access): UplinkTarget {
  const bytes = typeof ca === "string" ? new TextEncoder().encode(ca) : ca;
  const headers = credentials === undefined ? {} : { authorization: authorization(credentials) };
  return { url: new URL(url).origin, headers, ...(bytes === undefined ? {} : { ca: bytes }) };
}

function authorization(credentials: Credentials): string {
  if ("token" in credentials) return `Bearer ${credentials.token}`;
  const pair = Buffer.from(`${credentials.username}:${credentials.password}`, "utf8");
  return `Basic ${pair.toString("base64")}`;
}
