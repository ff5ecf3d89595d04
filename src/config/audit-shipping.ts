import type { Secret } from "../lib/secret.ts";
import { AUDIT_OPTIONS, type AuditDestination } from "./options/audit.ts";
import type { OptionReader } from "./sources/reader.ts";

/** `headers`: of each POST. */
export type AuditShipping = {
  readonly to: readonly AuditDestination[];
  readonly headers: Secret | undefined;
};

export function readAuditShipping(reader: OptionReader): AuditShipping {
  const to = reader.list(AUDIT_OPTIONS.auditShip);
  const headers = reader.secret(AUDIT_OPTIONS.auditShipHeader);
  if (headers !== undefined && headersIn(headers) === undefined) {
    reader.refuse("--audit-ship-header-file: must have one `Name: value` a line");
  }
  if (headers !== undefined && !to.some(({ kind }) => kind === "http")) {
    reader.refuse("--audit-ship-header-file is for URLs: give one with --audit-ship, or leave it out");
  }
  return { to, headers };
}

/** `undefined` where a line is no header. */
export function headersIn(secret: Secret): Readonly<Record<string, string>> | undefined {
  const lines = new TextDecoder().decode(secret.bytes()).split(/\r?\n/).filter(Boolean);
  const headers = lines.map((line) =>
    /^([!#$%&'*+.^_`|~\w-]+):[ \t]*([\x21-\x7e](?:[\x20-\x7e]*[\x21-\x7e])?)[ \t]*$/.exec(line),
  );
  if (headers.includes(null)) return undefined;
  return Object.fromEntries(headers.map((match) => [match?.[1] ?? "", match?.[2] ?? ""]));
}
