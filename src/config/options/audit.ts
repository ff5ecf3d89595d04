// The part of the option table about the audit log, and where it is shipped to.
import { isLoopbackName } from "../../lib/net/address.ts";
import { list, type Role, secret, value } from "./option.ts";
import { path, socketAddress } from "./value.ts";

export type AuditDestination =
  | { readonly kind: "stdout" }
  | { readonly kind: "syslog"; readonly to: SyslogAddress }
  | { readonly kind: "http"; readonly url: string };

export type SyslogAddress =
  | { readonly kind: "unix"; readonly path: string }
  | { readonly kind: "udp" | "tcp"; readonly host: string; readonly port: number };

const SERVER: readonly Role[] = ["server"];
const SYSLOG_SOCKET = "/dev/log";

export const AUDIT_OPTIONS = {
  auditLog: value<string | undefined>({
    name: "audit-log",
    placeholder: "path",
    parse: path,
    isPath: true,
    fallback: undefined,
    fallbackText: "audit.log in the control directory",
    prose: "File that tells, as JSON lines, who logged in, shared, registered or did something to a session.",
    roles: SERVER,
  }),
  auditShip: list<AuditDestination>({
    name: "audit-ship",
    placeholder: "where",
    parse: auditDestination,
    prose:
      "Send each line of the audit log there as well: `stdout`; `syslog` (/dev/log), `syslog:/path/of/socket`, `syslog+udp://host:port`, `syslog+tcp://host:port`; or a URL, which gets batches of JSON lines by POST. A slow or dead receiver delays nothing: 10,000 lines wait for it, and more are dropped and counted.",
    roles: SERVER,
  }),
  auditShipHeader: secret({
    name: "audit-ship-header",
    minBytes: 4,
    prose:
      "Headers of each POST to a URL of `--audit-ship`, one `Name: value` a line, such as `Authorization: Bearer …`.",
    roles: SERVER,
  }),
} as const;

function auditDestination(text: string): AuditDestination {
  if (text === "stdout") return { kind: "stdout" };
  if (text === "syslog") return { kind: "syslog", to: { kind: "unix", path: SYSLOG_SOCKET } };
  const [, socket] = /^syslog:(\/[^/].{0,106})$/.exec(text) ?? [];
  if (socket !== undefined) return { kind: "syslog", to: { kind: "unix", path: socket } };
  const [, kind, address = ""] = /^syslog\+(udp|tcp):\/\/(.+)$/.exec(text) ?? [];
  if (kind === "udp" || kind === "tcp") return { kind: "syslog", to: { kind, ...socketAddress(address) } };
  return { kind: "http", url: receiverUrl(text) };
}

/** Without encryption on this machine alone. */
function receiverUrl(text: string): string {
  const url = URL.parse(text);
  const isSafe = url?.protocol === "https:" || (url?.protocol === "http:" && isLoopbackName(url.hostname));
  if (url === null || !isSafe || url.username !== "" || url.password !== "" || url.hash !== "") {
    throw new RangeError(
      "must be stdout, syslog, syslog:/path, syslog+udp://host:port, syslog+tcp://host:port or an https URL without a password (http on this machine alone)",
    );
  }
  return url.href;
}
