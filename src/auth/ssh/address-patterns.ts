// The value of `from=` in authorized_keys.
import { SocketAddress } from "node:net";
import { fitsWildcard } from "../../lib/wildcard.ts";
import { addressBits, type IpAddress, readIpAddress, withoutMapping } from "./ip-address.ts";

/** What sshd has room for; a longer pattern ends the list of host names, and none of them fits. */
const MAX_PATTERN_LENGTH = 1_022;
const MAX_MASK_BITS = 128;

/** Who asks: the address as text, and as a number where it has no zone. */
type Peer = { readonly text: string; readonly ip: IpAddress | undefined };
type Network = { readonly net: IpAddress; readonly maskBits: number };

/**
 * Whether a list of addresses, networks and wildcards, parted by commas, each with a `!` for "not" or without, lets an
 * address in: as sshd decides it that looks no names up. A "not" that fits outweighs everything; a list with an empty
 * pattern, or a network that has bits beyond its mask, lets nobody in. Nobody without an address gets in.
 */
export function isAllowedFrom(list: string, address: string | undefined): boolean {
  const peer = address === undefined ? undefined : readPeer(address);
  if (peer === undefined) return false;
  const patterns = list.split(",").map(readPattern);
  const byAddress = patterns.map((pattern) => ({ ...pattern, fits: fitsAddress(pattern.text, peer) }));
  if (byAddress.some(({ isNot, fits }) => fits === undefined || (isNot && fits))) return false;
  const tooLong = patterns.findIndex(({ text }) => text.length > MAX_PATTERN_LENGTH);
  const names = tooLong < 0 ? patterns : patterns.slice(0, tooLong);
  const byName = names.map(({ isNot, text }) => ({ isNot, fits: fitsName(text, peer) }));
  if (byName.some(({ isNot, fits }) => isNot && fits)) return false;
  return byAddress.some(({ fits }) => fits) || (tooLong < 0 && byName.some(({ fits }) => fits));
}

function readPattern(text: string): { readonly isNot: boolean; readonly text: string } {
  const isNot = text.startsWith("!");
  return { isNot, text: isNot ? text.slice(1) : text };
}

/** sshd knows a peer by the one canonical spelling of its address. */
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

/** `undefined`: no such pattern can be. */
function fitsAddress(pattern: string, peer: Peer): boolean | undefined {
  if (pattern === "") return undefined;
  const network = readNetwork(pattern);
  if (network === "impossible") return undefined;
  if (network === undefined) return fitsWildcard(peer.text, pattern);
  return peer.ip !== undefined && isWithin(peer.ip, network);
}

function fitsName(pattern: string, peer: Peer): boolean {
  return fitsWildcard(peer.text.toLowerCase(), pattern.toLowerCase());
}

/** `undefined` for what is no address: a wildcard, or the name of a host. */
function readNetwork(pattern: string): Network | "impossible" | undefined {
  const slash = pattern.indexOf("/");
  const net = readIpAddress(slash < 0 ? pattern : pattern.slice(0, slash));
  if (net === undefined) return undefined;
  if (slash < 0) return { net, maskBits: addressBits(net.family) };
  const mask = pattern.slice(slash + 1);
  // C takes that for a number, too, and versions of sshd disagree about it.
  if (/^[\t-\r ]*[+-]\d|^[\t-\r ]+\d/.test(mask)) return "impossible";
  const maskBits = /^\d{1,9}$/.test(mask) ? Number(mask) : Number.POSITIVE_INFINITY;
  if (maskBits > MAX_MASK_BITS) return undefined;
  const hostBits = addressBits(net.family) - maskBits;
  return hostBits < 0 || BigInt.asUintN(hostBits, net.bits) !== 0n ? "impossible" : { net, maskBits };
}

function isWithin(ip: IpAddress, { net, maskBits }: Network): boolean {
  const hostBits = BigInt(addressBits(net.family) - maskBits);
  return ip.family === net.family && ip.bits >> hostBits === net.bits >> hostBits;
}
