// The options of the audit log and of the receivers that it is shipped to.
import { isLoopbackName, urlHost } from "../../lib/net/address.ts";
import type { Secret } from "../../lib/secret.ts";
import { list, optional, secret } from "./option.ts";
import { path, socketAddress } from "./value.ts";

export type AuditDestination =
  | { readonly kind: "stdout" }
  | { readonly kind: "syslog"; readonly to: SyslogAddress }
  | { readonly kind: "http"; readonly url: string };

type SyslogAddress =
  | { readonly kind: "unix"; readonly path: string }
  | { readonly kind: "udp" | "tcp"; readonly host: string; readonly port: number };

const SYSLOG_SOCKET = "/dev/log";

export const AUDIT_OPTIONS = {
  auditLog: optional("audit-log <path>", path, {
    isPath: true,
    fallbackText: "audit.log in the control directory",
    prose: "File that records, as JSON lines, logins, shares, registrations and actions on sessions.",
  }),
  auditShip: list("audit-ship <where>", auditDestination, {
    prose:
      "Also send each line of the audit log to a receiver: `stdout`; `syslog` (/dev/log), `syslog:/path/of/socket`, `syslog+udp://host:port`, `syslog+tcp://host:port`; or a URL, which gets batches of JSON lines by POST. A slow or dead receiver delays nothing: up to 10,000 lines wait for it, further ones are dropped and counted.",
  }),
  auditShipHeader: secret("audit-ship-header", {
    minBytes: 4,
    prose:
      "Headers of each POST to a URL of `--audit-ship`, one `Name: value` per line, such as `Authorization: Bearer …`.",
  }),
} as const;

/** `undefined` if a line is not a header. */
export function headersIn(secret: Secret): Readonly<Record<string, string>> | undefined {
  const lines = new TextDecoder().decode(secret.bytes()).split(/\r?\n/).filter(Boolean);
  const headers = lines.map((line) =>
    /^([!#$%&'*+.^_`|~\w-]+):[ \t]*([\x21-\x7e](?:[\x20-\x7e]*[\x21-\x7e])?)[ \t]*$/.exec(line),
  );
  if (headers.includes(null)) return undefined;
  return Object.fromEntries(headers.map((match) => [match?.[1] ?? "", match?.[2] ?? ""]));
}

function auditDestination(text: string): AuditDestination {
  if (text === "stdout") return { kind: "stdout" };
  if (text === "syslog") return { kind: "syslog", to: { kind: "unix", path: SYSLOG_SOCKET } };
  const [, socket] = /^syslog:(\/[^/].{0,106})$/.exec(text) ?? [];
  if (socket !== undefined) return { kind: "syslog", to: { kind: "unix", path: socket } };
  const [, kind, address = ""] = /^syslog\+(udp|tcp):\/\/(.+)$/.exec(text) ?? [];
  if (kind === "udp" || kind === "tcp") return { kind: "syslog", to: { kind, ...socketAddress(address) } };
  return { kind: "http", url: receiverUrl(text) };
}

/** Plain http is allowed on this machine only. */
function receiverUrl(text: string): string {
  const url = URL.parse(text);
  const isSafe = url?.protocol === "https:" || (url?.protocol === "http:" && isLoopbackName(urlHost(url)));
  if (url === null || !isSafe || url.username !== "" || url.password !== "" || url.hash !== "") {
    throw new RangeError(
      "must be stdout, syslog, syslog:/path, syslog+udp://host:port, syslog+tcp://host:port or an https URL without a password (http on this machine alone)",
    );
  }
  return url.href;
}
