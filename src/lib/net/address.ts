import { isIPv4, isIPv6 } from "node:net";

const MAPPED_IPV4 = /^::ffff:(\d{1,3}(?:\.\d{1,3}){3})$/i;

/** True for loopback addresses: 127.0.0.0/8, ::1, and the former mapped to IPv6. */
export function isLoopbackAddress(address: string): boolean {
  const plain = MAPPED_IPV4.exec(address)?.[1] ?? address;
  return isIPv4(plain) ? plain.startsWith("127.") : plain === "::1";
}

/** True for host names that mean this machine: loopback addresses, `localhost`, `*.localhost`. */
export function isLoopbackName(name: string): boolean {
  const plain = name.toLowerCase();
  return plain === "localhost" || plain.endsWith(".localhost") || isLoopbackAddress(plain);
}

/** The host name of a URL, an IPv6 address without brackets. */
export function urlHost({ hostname }: Pick<URL, "hostname">): string {
  return hostname.replace(/^\[|\]$/g, "");
}

/**
 * The key under which limits count a client: an IPv4 address, or the first 64 bits of an IPv6 address (one customer
 * has them all). Everything else, such as a unix socket, has one common key.
 */
export function addressKey(address: string | undefined): string {
  const plain = address?.split("%", 1)[0] ?? "";
  const ipv4 = MAPPED_IPV4.exec(plain)?.[1] ?? plain;
  if (isIPv4(ipv4)) return ipv4;
  return isIPv6(plain) ? `${ipv6Groups(plain).slice(0, 4).join(":")}::/64` : "local";
}

/** The eight groups of a valid IPv6 address without a zone, in hexadecimal. */
export function ipv6Groups(address: string): readonly string[] {
  // A URL has the address in its shortest form, without a dotted tail.
  const shortest = new URL(`http://[${address}]`).hostname.slice(1, -1);
  const [front = [], back = []] = shortest.split("::").map((side) => side.split(":").filter(Boolean));
  return [...front, ...Array<string>(8 - front.length - back.length).fill("0"), ...back];
}
