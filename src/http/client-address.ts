// The client and the host of a request, as the connection or trusted proxies report them.
import type { IncomingMessage } from "node:http";
import { BlockList, isIP, isIPv6 } from "node:net";
import { TLSSocket } from "node:tls";
import { isLoopbackAddress } from "../lib/net/address.ts";
import type { Secret } from "../lib/secret.ts";
import { sameBytes } from "../lib/secret.ts";

export type Client = {
  /** Undefined on a unix socket. Limits, logs and records use this address. */
  readonly address: string | undefined;
  readonly host: string | undefined;
  readonly isHttps: boolean;
};

type Request = Pick<IncomingMessage, "headers"> & {
  readonly socket: { readonly remoteAddress?: string | undefined };
};

/** Never throws; always the same for one request. */
export type ClientOf = (request: Request) => Client;

export type TrustedPeers = {
  readonly ranges: readonly { readonly address: string; readonly prefix: number }[];
  /** The proof of our own reverse proxy on this machine. */
  readonly proof?: Secret | undefined;
};

/** Some proxies add a port: `10.0.0.1:5000`, `[::1]:5000`. */
const WITH_PORT = /^(?:\[([^\]]+)\]|([^:]+))(?::\d{1,5})?$/;

/**
 * X-Forwarded-For, -Proto and -Host count only from trusted peers. Each proxy appends the address that it sees, so
 * the client's address is the last one that is not a trusted proxy's; the client may have forged those before. Of the
 * other two the last value counts. The header Forwarded is ignored.
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

/** Without trusted proxies. */
export function connectionOf({ headers, socket }: Request): Client {
  return { address: socket.remoteAddress, host: headers.host, isHttps: socket instanceof TLSSocket };
}

/** `undefined` if the list has no valid address at its end. */
function forwardedAddress(
  list: string | readonly string[] | undefined,
  isTrusted: (address: string) => boolean,
): string | undefined {
  let nearest: string | undefined;
  for (const item of itemsOf(list).toReversed()) {
    const address = addressOf(item);
    // Values before an invalid one are not trusted.
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
