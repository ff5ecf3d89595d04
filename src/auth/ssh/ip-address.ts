import { isIPv6 } from "node:net";

/** An address as a number: what networks are compared by. */
export type IpAddress = { readonly family: 4 | 6; readonly bits: bigint };

const MAX_ADDRESS_LENGTH = 63;
/** How C writes numbers: octal with a 0 before it, hexadecimal with 0x. */
const PART = /^(?:0[xX][0-9a-fA-F]+|0[0-7]*|[1-9][0-9]*)$/;
const IPV4_TAIL = /:(\d+)\.(\d+)\.(\d+)\.(\d+)$/;
const MAPPED_IPV4 = 0xffffn;

/** An address without a zone, in every form that sshd takes for one: `127.1` and `0x7f000001` are 127.0.0.1. */
export function readIpAddress(text: string): IpAddress | undefined {
  if (text.length > MAX_ADDRESS_LENGTH) return undefined;
  return isIPv6(text) ? readIpv6(text) : readIpv4(text);
}

/** An IPv4 address that an IPv6 socket tells of is that IPv4 address. */
export function withoutMapping(address: IpAddress): IpAddress {
  const { family, bits } = address;
  const isMapped = family === 6 && bits >> 32n === MAPPED_IPV4;
  return isMapped ? { family: 4, bits: bits & 0xffff_ffffn } : address;
}

/** Bits of an address of that family. */
export function addressBits(family: 4 | 6): number {
  return family === 4 ? 32 : 128;
}

/** One to four numbers; the last fills all that is left. */
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
