import { isIPv6 } from "node:net";

/** A Host header; `name` in lower case, an IPv6 address without brackets. */
export type Host = { readonly name: string; readonly port: number | undefined };
export type Origin = { readonly scheme: string; readonly host: Host };

const HOST = /^(?:\[([0-9a-f:.]{2,45})\]|([a-z0-9_][a-z0-9_.-]{0,252}))(?::(\d{1,5}))?$/i;
const ORIGIN = /^([a-z][a-z0-9+.-]{0,31}):\/\/(.{1,300})$/i;
const DEFAULT_PORTS: ReadonlyMap<string, number> = new Map([
  ["http", 80],
  ["https", 443],
]);

/** From `name[:port]`; `undefined` for anything else. */
export function parseHost(text: string): Host | undefined {
  const [, ipv6, plainName, port] = HOST.exec(text) ?? [];
  const name = ipv6 ?? plainName;
  if (name === undefined || (ipv6 !== undefined && !isIPv6(ipv6))) return undefined;
  const number = port === undefined ? undefined : Number(port);
  if (number !== undefined && (number < 1 || number > 65_535)) return undefined;
  return { name: name.toLowerCase(), port: number };
}

/** From `scheme://name[:port]`; `undefined` for anything else: `null`, a path, credentials, a list. */
export function parseOrigin(text: string): Origin | undefined {
  const [, scheme, rest] = ORIGIN.exec(text) ?? [];
  const host = rest === undefined ? undefined : parseHost(rest);
  return scheme === undefined || host === undefined ? undefined : { scheme: scheme.toLowerCase(), host };
}

/** The canonical spelling: lower case, without the scheme's default port. */
export function formatOrigin({ scheme, host }: Origin): string {
  const name = host.name.includes(":") ? `[${host.name}]` : host.name;
  const isDefault = host.port === undefined || host.port === DEFAULT_PORTS.get(scheme);
  return `${scheme}://${name}${isDefault ? "" : `:${host.port}`}`;
}

/** Whether a page of this origin was loaded from this host over HTTP or HTTPS. */
export function isOriginOf({ scheme, host }: Origin, server: Host): boolean {
  const port = DEFAULT_PORTS.get(scheme);
  return port !== undefined && host.name === server.name && (host.port ?? port) === (server.port ?? port);
}
