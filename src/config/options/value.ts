// Parsers of option values. Each throws RangeError "must be …" for an invalid text.
import { X509Certificate } from "node:crypto";
import { isIP, isIPv6 } from "node:net";
import { formatOrigin, parseHost, parseOrigin } from "../../lib/net/origin.ts";
import { isLoginName } from "../../lib/profile.ts";
import { Secret } from "../../lib/secret.ts";
import { RemoteNamePattern } from "../../protocol/schemas/join.ts";
import { Role, type RoleRule } from "../../protocol/schemas/permission.ts";
import { LabelKey, LabelValue, RemoteName, RemoteUrl } from "../../protocol/schemas/remote.ts";

const BYTE_UNITS: ReadonlyMap<string, number> = new Map([
  ["", 1],
  ["b", 1],
  ["kb", 1e3],
  ["mb", 1e6],
  ["gb", 1e9],
  ["tb", 1e12],
  ["kib", 2 ** 10],
  ["mib", 2 ** 20],
  ["gib", 2 ** 30],
  ["tib", 2 ** 40],
]);
const BYTES = /^(\d{1,15})\s?([a-z]{0,3})$/;
// biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what is refused
const USER_NAME = /^[^\s:,/\x00-\x1f\x7f]{1,255}$/;
// biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what is refused
const PATH = /^[^\x00]{1,4096}$/;

export function integer(min: number, max: number): (text: string) => number {
  return (text) => {
    const value = /^\d{1,9}$/.test(text) ? Number(text) : Number.NaN;
    if (!(value >= min && value <= max)) throw new RangeError(`must be a whole number from ${min} to ${max}`);
    return value;
  };
}

/** `undefined` for 0: no limit. */
export function limit(text: string): number | undefined {
  const value = integer(0, 1_000_000)(text);
  return value === 0 ? undefined : value;
}

/** A whole number of bytes, with or without a unit: `1048576`, `256MiB`, `10 GB`. */
export function byteCount(text: string): number {
  const [, digits, unit] = BYTES.exec(text.toLowerCase()) ?? [];
  const bytes = Number(digits) * (BYTE_UNITS.get(unit ?? "") ?? Number.NaN);
  if (Number.isSafeInteger(bytes) && bytes > 0) return bytes;
  throw new RangeError("must be a number of bytes above 0, such as 1048576, 256MiB or 10GB");
}

export function byteCountOrNone(text: string): number {
  return text === "0" ? 0 : byteCount(text);
}

export function choice<T extends string>(...choices: readonly T[]): (text: string) => T {
  return (text) => {
    const found = choices.find((each) => each === text);
    if (found === undefined) throw new RangeError(`must be ${choices.join(" or ")}`);
    return found;
  };
}

export function isTrue(text: string): boolean {
  if (["true", "1", "yes", "on"].includes(text.toLowerCase())) return true;
  if (["false", "0", "no", "off"].includes(text.toLowerCase())) return false;
  throw new RangeError("must be true or false");
}

/** An address or a host name to listen on, an IPv6 address without brackets. */
export function bindAddress(text: string): string {
  const bare = /^\[(.*)\]$/.exec(text)?.[1] ?? text;
  if (isIP(bare) !== 0) return bare;
  const host = parseHost(text);
  if (host === undefined || host.port !== undefined || /^[\d.]+$/.test(text)) {
    throw new RangeError("must be an address or a host name without a port, such as 127.0.0.1");
  }
  return host.name;
}

/** `host:port`, an IPv6 address in brackets; port 0 for any free one. */
export function socketAddress(text: string): { readonly host: string; readonly port: number } {
  const [, host = "", port = ""] = /^(.+):(\d{1,5})$/.exec(text) ?? [];
  if (host === "" || Number(port) > 65_535 || (host.includes(":") && !host.startsWith("["))) {
    throw new RangeError("must be an address and a port, such as 0.0.0.0:4443");
  }
  return { host: bindAddress(host), port: Number(port) };
}

/** An address, or a range of them: `10.0.0.0/8`, `fd00::/8`. */
export function addressRange(text: string): { readonly address: string; readonly prefix: number } {
  const [, address = "", digits] = /^([^/]+)(?:\/(\d{1,3}))?$/.exec(text) ?? [];
  const bits = isIPv6(address) ? 128 : 32;
  const prefix = digits === undefined ? bits : Number(digits);
  if (isIP(address) === 0 || prefix > bits) {
    throw new RangeError("must be an address or a range of addresses, such as 10.0.0.0/8");
  }
  return { address, prefix };
}

/** In the spelling of browsers. */
export function origin(text: string): string {
  const parsed = parseOrigin(text);
  if (parsed === undefined) {
    throw new RangeError("must be scheme://host[:port] and nothing more, such as https://term.example.com");
  }
  return formatOrigin(parsed);
}

/** The address of a server, in its canonical spelling. */
export function httpOrigin(text: string): string {
  const parsed = parseOrigin(text.replace(/\/$/, ""));
  const origin = parsed === undefined ? "" : formatOrigin(parsed);
  if (!RemoteUrl.safeParse(origin).success) {
    throw new RangeError("must be http(s)://host[:port] and nothing more, such as https://hq.example.com");
  }
  return origin;
}

export const remoteName = checked(
  (text) => RemoteName.safeParse(text).success,
  "1 to 128 letters, digits, dots, hyphens and underscores, beginning with a letter or digit",
);

/** The name of a remote, or a pattern of such names. */
export const remoteNamePattern = checked(
  (text) => RemoteNamePattern.safeParse(text).success,
  "the name of a remote, in which * stands for any characters",
);

export const userName = checked((text) => USER_NAME.test(text), "one user name");

export const path = checked((text) => PATH.test(text), "a path");

/** The text itself, if it is valid. */
export function checked(isValid: (text: string) => boolean, requirement: string): (text: string) => string {
  return (text) => {
    if (!isValid(text)) throw new RangeError(`must be ${requirement}`);
    return text;
  };
}

/** A user name, or a user of an OpenID Connect provider by issuer and subject: `https://id.example.com#248289761001`. */
export function allowedUser(text: string): string {
  const [issuer = "", ...subject] = text.split("#");
  const isSubject = /^https?:$/.test(URL.parse(issuer)?.protocol ?? "") && subject.join("#") !== "";
  if ((isSubject && isLoginName(text)) || USER_NAME.test(text)) return text;
  throw new RangeError("must be one user name, or https://issuer#subject");
}

/** `ada=operator`, `%ops=auditor`, `*=viewer`. */
export function roleRule(text: string): RoleRule {
  const at = text.lastIndexOf("=");
  const who = text.slice(0, Math.max(0, at));
  const role = Role.safeParse(text.slice(at + 1)).data;
  if (role === undefined || !/^%?[^\p{C},]+$/u.test(who)) {
    throw new RangeError(`must be user=role or %group=role, with a role of ${Role.options.join(", ")}`);
  }
  return who.startsWith("%") ? { group: who.slice(1), role } : { user: allowedUser(who), role };
}

const CERTIFICATE = /-----BEGIN ((?:X509 |TRUSTED )?CERTIFICATE)-----[^-]+-----END \1-----/g;
const KEY = /-----BEGIN ((?:[A-Z0-9]+ )?PRIVATE KEY)-----[\s\S]+?-----END \1-----/;
const LOCKED_KEY = /-----BEGIN ENCRYPTED PRIVATE KEY-----|^Proc-Type: 4,ENCRYPTED/m;

/** Checks every certificate: TLS silently skips those that it cannot read. */
export function certificates(bytes: Uint8Array): Uint8Array {
  const found = textOf(bytes).match(CERTIFICATE) ?? [];
  if (found.length === 0 || !found.every(isCertificate)) {
    throw new RangeError("must hold certificates in PEM form, -----BEGIN CERTIFICATE-----");
  }
  return bytes;
}

export function privateKey(bytes: Uint8Array): Secret {
  const text = textOf(bytes);
  if (LOCKED_KEY.test(text)) {
    throw new RangeError("must hold a private key without a passphrase: the server cannot ask for one");
  }
  if (!KEY.test(text))
    throw new RangeError("must hold a private key in PEM form, -----BEGIN PRIVATE KEY-----");
  return new Secret(bytes);
}

function isCertificate(pem: string): boolean {
  try {
    return new X509Certificate(pem).fingerprint256 !== "";
  } catch {
    return false;
  }
}

function textOf(bytes: Uint8Array): string {
  return new TextDecoder("latin1").decode(bytes);
}

export function machineLabel(text: string): readonly [key: string, value: string] {
  const [, key = "", value = ""] = /^([^=]*)=(.*)$/s.exec(text) ?? [];
  if (text.includes("=") && LabelKey.safeParse(key).success && LabelValue.safeParse(value).success) {
    return [key, value];
  }
  throw new RangeError(
    "must be key=value, such as gpu=true, with letters, digits, dots, hyphens and underscores",
  );
}
