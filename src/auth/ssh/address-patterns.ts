// The value of `from=` in authorized_keys.
import { isIPv6, SocketAddress } from "node:net";
import { ipv6Groups } from "../../lib/net/address.ts";
import { fitsWildcard } from "../../lib/wildcard.ts";

/** sshd's limit. A longer pattern ends the list of host names and matches nothing. */
const MAX_PATTERN_LENGTH = 1_022;
const MAX_MASK_BITS = 128;
const MAX_ADDRESS_LENGTH = 63;
/** A number as C writes it: octal after 0, hexadecimal after 0x. */
const PART = /^(?:0[xX][0-9a-fA-F]+|0[0-7]*|[1-9][0-9]*)$/;
/** The first 96 bits of an IPv4 address that is mapped to IPv6. */
const MAPPED_IPV4 = `${"0".repeat(80)}${"1".repeat(16)}`;

/** Binary digits: 32 of an IPv4 address, 128 of an IPv6 address. */
type Bits = string;
/** The client's address; `bits` is missing if it has a zone. */
type Peer = { readonly text: string; readonly bits: Bits | undefined };

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
  const found = readAddress(address);
  if (found === undefined) return address.includes("%") ? { text: address, bits: undefined } : undefined;
  const bits = withoutMapping(found);
  if (bits.length === 128) return { text: new SocketAddress({ address, family: "ipv6" }).address, bits };
  return { text: [0, 8, 16, 24].map((at) => Number.parseInt(bits.slice(at, at + 8), 2)).join("."), bits };
}

/** `undefined` for an invalid pattern. */
function fitsAddress(pattern: string, { text, bits }: Peer): boolean | undefined {
  const network = pattern === "" ? "invalid" : readNetwork(pattern);
  if (network === "invalid") return undefined;
  if (network === undefined) return fitsWildcard(text, pattern);
  return bits !== undefined && bits.length === network.length && bits.startsWith(network.prefix);
}

/** The first bits of the network's addresses, and their length; `undefined` for a wildcard or a host name. */
function readNetwork(
  pattern: string,
): { readonly prefix: Bits; readonly length: number } | "invalid" | undefined {
  const [address = "", ...rest] = pattern.split("/");
  const bits = readAddress(address);
  if (bits === undefined) return undefined;
  const { length } = bits;
  if (rest.length === 0) return { prefix: bits, length };
  const mask = rest.join("/");
  // C accepts these as numbers, and versions of sshd differ.
  if (/^[\t-\r ]*[+-]\d|^[\t-\r ]+\d/.test(mask)) return "invalid";
  const maskBits = /^\d{1,9}$/.test(mask) ? Number(mask) : Number.POSITIVE_INFINITY;
  if (maskBits > MAX_MASK_BITS) return undefined;
  const isNetwork = maskBits <= length && !bits.includes("1", maskBits);
  return isNetwork ? { prefix: bits.slice(0, maskBits), length } : "invalid";
}

/** An address without a zone, in each form that sshd takes: `127.1` and `0x7f000001` are 127.0.0.1. */
export function readAddress(text: string): Bits | undefined {
  if (text.length > MAX_ADDRESS_LENGTH) return undefined;
  if (text.includes("%")) return undefined;
  if (isIPv6(text))
    return ipv6Groups(text)
      .map((group) => binary(Number.parseInt(group, 16), 16))
      .join("");
  const parts = text.split(".");
  return parts.length <= 4 && parts.every((part) => PART.test(part)) ? readIpv4(text) : undefined;
}

/** An IPv6 socket reports IPv4 clients under mapped addresses. */
export function withoutMapping(bits: Bits): Bits {
  return bits.startsWith(MAPPED_IPV4) ? bits.slice(MAPPED_IPV4.length) : bits;
}

/** URLs take the same forms of IPv4 addresses as C: one to four numbers, of which the last one fills the remaining bytes. */
function readIpv4(text: string): Bits | undefined {
  const bytes = URL.parse(`http://${text}`)?.hostname.split(".");
  return bytes?.map((byte) => binary(Number(byte), 8)).join("");
}

function binary(number: number, digits: number): Bits {
  return number.toString(2).padStart(digits, "0");
}
