// The value of `from=` in authorized_keys.
import { isIPv6, SocketAddress } from "node:net";
import { fitsWildcard } from "../../lib/wildcard.ts";

/** sshd's limit. A longer pattern ends the list of host names and matches nothing. */
const MAX_PATTERN_LENGTH = 1_022;
const MAX_MASK_BITS = 128;
const MAX_ADDRESS_LENGTH = 63;
/** A number as C writes it: octal after 0, hexadecimal after 0x. */
const PART = /^(?:0[xX][0-9a-fA-F]+|0[0-7]*|[1-9][0-9]*)$/;
const IPV4_TAIL = /:(\d+)\.(\d+)\.(\d+)\.(\d+)$/;
const MAPPED_IPV4 = 0xffffn;

/** An address as a number. */
export type IpAddress = { readonly family: 4 | 6; readonly bits: bigint };
/** The client's address; `ip` is missing if it has a zone. */
type Peer = { readonly text: string; readonly ip: IpAddress | undefined };
type Network = { readonly net: IpAddress; readonly maskBits: number };

/**
 * Whether a comma-separated list of addresses, networks and wildcards, some negated with `!`, admits an address, as sshd
 * decides without name lookups. A negated match outweighs everything. A list with an empty pattern, or a network with
 * bits beyond its mask, admits nobody; nor does any list admit a client without an address.
 */
export function isAllowedFrom(list: string, address: string | undefined): boolean {
  const peer = address === undefined ? undefined : readPeer(address);
  if (peer === undefined) return false;
  const patterns = list
    .split(",")
    .map((text) => ({ isNot: text.startsWith("!"), text: text.replace(/^!/, "") }));
  const byAddress = patterns.map(({ isNot, text }) => ({ isNot, fits: fitsAddress(text, peer) }));
  if (byAddress.some(({ isNot, fits }) => fits === undefined || (isNot && fits))) return false;
  const tooLong = patterns.findIndex(({ text }) => text.length > MAX_PATTERN_LENGTH);
  const names = tooLong < 0 ? patterns : patterns.slice(0, tooLong);
  const byName = names.filter(({ text }) => fitsWildcard(peer.text.toLowerCase(), text.toLowerCase()));
  if (byName.some(({ isNot }) => isNot)) return false;
  return byAddress.some(({ fits }) => fits) || (tooLong < 0 && byName.length > 0);
}

/** In the canonical spelling, by which sshd knows a client. */
function readPeer(address: string): Peer | undefined {
  const ip = readIpAddress(address);
  if (ip === undefined) return address.includes("%") ? { text: address, ip } : undefined;
  const plain = withoutMapping(ip);
  return { text: plain.family === 4 ? dotted(plain) : canonical(address), ip: plain };
}

function dotted({ bits }: IpAddress): string {
  return [24n, 16n, 8n, 0n].map((shift) => (bits >> shift) & 255n).join(".");
}

function canonical(address: string): string {
  return new SocketAddress({ address, family: "ipv6" }).address;
}

/** `undefined` for an invalid pattern. */
function fitsAddress(pattern: string, peer: Peer): boolean | undefined {
  const network = pattern === "" ? "invalid" : readNetwork(pattern);
  if (network === "invalid") return undefined;
  if (network === undefined) return fitsWildcard(peer.text, pattern);
  return peer.ip !== undefined && isWithin(peer.ip, network);
}

/** `undefined` for a wildcard or a host name. */
function readNetwork(pattern: string): Network | "invalid" | undefined {
  const [address = "", ...rest] = pattern.split("/");
  const net = readIpAddress(address);
  if (net === undefined) return undefined;
  if (rest.length === 0) return { net, maskBits: addressBits(net) };
  const mask = rest.join("/");
  // C accepts these as numbers, and versions of sshd differ.
  if (/^[\t-\r ]*[+-]\d|^[\t-\r ]+\d/.test(mask)) return "invalid";
  const maskBits = /^\d{1,9}$/.test(mask) ? Number(mask) : Number.POSITIVE_INFINITY;
  if (maskBits > MAX_MASK_BITS) return undefined;
  const hostBits = addressBits(net) - maskBits;
  return hostBits < 0 || BigInt.asUintN(hostBits, net.bits) !== 0n ? "invalid" : { net, maskBits };
}

function isWithin(ip: IpAddress, { net, maskBits }: Network): boolean {
  const hostBits = BigInt(addressBits(net) - maskBits);
  return ip.family === net.family && ip.bits >> hostBits === net.bits >> hostBits;
}

function addressBits({ family }: IpAddress): number {
  return family === 4 ? 32 : 128;
}

/** An address without a zone, in each form that sshd takes: `127.1` and `0x7f000001` are 127.0.0.1. */
export function readIpAddress(text: string): IpAddress | undefined {
  if (text.length > MAX_ADDRESS_LENGTH) return undefined;
  return isIPv6(text) ? readIpv6(text) : readIpv4(text);
}

/** An IPv6 socket reports IPv4 clients under mapped addresses. */
export function withoutMapping(address: IpAddress): IpAddress {
  const { family, bits } = address;
  const isMapped = family === 6 && bits >> 32n === MAPPED_IPV4;
  return isMapped ? { family: 4, bits: bits & 0xffff_ffffn } : address;
}

/** One to four numbers; the last one fills the remaining bytes. */
function readIpv4(text: string): IpAddress | undefined {
  const parts = text.split(".");
  if (parts.length > 4 || !parts.every((part) => PART.test(part))) return undefined;
  const numbers = parts.map((part) => BigInt(/^0[0-7]/.test(part) ? `0o${part.slice(1)}` : part));
  const last = numbers.pop() ?? 0n;
  const freeBits = 32n - 8n * BigInt(numbers.length);
  if (numbers.some((number) => number > 255n) || last >> freeBits !== 0n) return undefined;
  const first = numbers.reduce((sum, number) => (sum << 8n) | number, 0n);
  return { family: 4, bits: (first << freeBits) | last };
}

function readIpv6(text: string): IpAddress | undefined {
  if (text.includes("%")) return undefined;
  const plain = text.replace(IPV4_TAIL, (_, a, b, c, d) => `:${hexPair(a, b)}:${hexPair(c, d)}`);
  const [front = [], back = []] = plain.split("::").map((side) => side.split(":").filter(Boolean));
  const gap = Array<string>(8 - front.length - back.length).fill("0");
  const groups = [...front, ...gap, ...back];
  return { family: 6, bits: groups.reduce((sum, group) => (sum << 16n) | BigInt(`0x${group}`), 0n) };
}

function hexPair(high: string, low: string): string {
  return (Number(high) * 256 + Number(low)).toString(16);
}
