// Where a request came from and what it was asked of: as the connection says, or as trusted proxies on the way do.
import type { IncomingMessage } from "node:http";
import { BlockList, isIP, isIPv6 } from "node:net";
import { TLSSocket } from "node:tls";
import { isLoopbackAddress } from "../lib/net/address.ts";
import type { Secret } from "../lib/secret.ts";
import { sameBytes } from "../lib/secret.ts";

export type Client = {
  /** The client's address, undefined on a unix socket: what limits, logs and records count and name. */
  readonly address: string | undefined;
  /** Which host it asked for, as in the Host header. */
  readonly host: string | undefined;
  /** Whether it came over TLS. */
  readonly isHttps: boolean;
};

type Request = Pick<IncomingMessage, "headers"> & {
  readonly socket: { readonly remoteAddress?: string | undefined };
};

/** Never throws. The answer for one request is always the same. */
export type ClientOf = (request: Request) => Client;

export type TrustedPeers = {
  /** Of `--trusted-proxy`. */
  readonly ranges: readonly { readonly address: string; readonly prefix: number }[];
  /** With what our own reverse proxy, on this machine, proves itself. */
  readonly proof?: Secret | undefined;
};

/** An address with the port that some proxies add to it: `10.0.0.1:5000`, `[::1]:5000`. */
const WITH_PORT = /^(?:\[([^\]]+)\]|([^:]+))(?::\d{1,5})?$/;

/**
 * X-Forwarded-For, -Proto and -Host count when whoever is at the other end of the connection is trusted; from anybody
 * else they say nothing. Each proxy adds the address it sees at the end of the list, so the client's is the last one that
 * is no trusted proxy's: what stands before it, the client may have made up. Of the other two the last value counts, which
 * is the nearest proxy's. The header Forwarded is not looked at.
 */
export function clientReader({ ranges, proof }: TrustedPeers): ClientOf {
  const isTrusted = inRanges(ranges);
  const isProof = proof && sameBytes(proof.bytes());
  const known = new WeakMap<object, Client>();
  const read = (request: Request): Client => {
    const client = connectionOf(request);
    const { headers } = request;
    const { address } = client;
    const sentProof = headers["proxy-user-proof"];
    const isOwnProxy =
      typeof sentProof === "string" &&
      address !== undefined &&
      isLoopbackAddress(address) &&
      isProof?.(sentProof) === true;
    if (address === undefined || !(isOwnProxy || isTrusted(address))) return client;
    const scheme = last(headers["x-forwarded-proto"])?.toLowerCase();
    return {
      address: forwardedAddress(headers["x-forwarded-for"], isTrusted) ?? address,
      host: last(headers["x-forwarded-host"]) ?? client.host,
      isHttps: scheme === undefined ? client.isHttps : scheme === "https" || scheme === "wss",
    };
  };
  return (request) => {
    const client = known.get(request) ?? read(request);
    known.set(request, client);
    return client;
  };
}

/** For where no proxy is trusted. */
export function connectionOf({ headers, socket }: Request): Client {
  return { address: socket.remoteAddress, host: headers.host, isHttps: socket instanceof TLSSocket };
}

/** `undefined` where the list names nobody whom a trusted proxy has seen. */
function forwardedAddress(
  list: string | readonly string[] | undefined,
  isTrusted: (address: string) => boolean,
): string | undefined {
  let nearest: string | undefined;
  for (const item of itemsOf(list).toReversed()) {
    const address = addressOf(item);
    // Nobody knows who wrote what stands before something that is no address.
    if (address === undefined) return nearest;
    nearest = address;
    if (!isTrusted(address)) return nearest;
  }
  return nearest;
}

function addressOf(item: string): string | undefined {
  const [, bracketed, plain] = WITH_PORT.exec(item) ?? [];
  return [item, bracketed, plain].find((each) => each !== undefined && isIP(each) !== 0);
}

function last(list: string | readonly string[] | undefined): string | undefined {
  return itemsOf(list).at(-1);
}

function itemsOf(list: string | readonly string[] | undefined): readonly string[] {
  return [list ?? []]
    .flat()
    .flatMap((line) => line.split(","))
    .map((item) => item.trim())
    .filter((item) => item !== "");
}

/** Whether an address is one of these; never of what is none. */
export function inRanges(ranges: TrustedPeers["ranges"]): (address: string) => boolean {
  if (ranges.length === 0) return () => false;
  const list = new BlockList();
  for (const { address, prefix } of ranges) list.addSubnet(address, prefix, familyOf(address));
  return (address) => {
    const [plain = ""] = address.split("%", 1);
    return isIP(plain) !== 0 && list.check(plain, familyOf(plain));
  };
}

function familyOf(address: string): "ipv4" | "ipv6" {
  return isIPv6(address) ? "ipv6" : "ipv4";
}
