// A server's address, and the credentials for it.
import type { UplinkTarget } from "../../../src/remote/uplink.ts";

export type Access = {
  /** An http(s) origin. */
  readonly url: string;
  /** Name and password for an HQ (RFC 7617), an access token for any server; none for a server with `--no-auth`. */
  readonly credentials?: Credentials | undefined;
  /** A certificate authority to trust in addition to Node's own, PEM. */
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
