import type { VNode } from "preact";
import type { AuditRecord } from "../../protocol/schemas/audit.ts";
import { Table } from "../components/table.tsx";

const TONES: Readonly<Record<string, string>> = { ok: "good", refused: "bad", failed: "warn" };

const HEADINGS = ["Time", "User", "Action", "Result", "Session", "From", "Details"];

/** Length of a shown session id; the title has all of it. */
const SHOWN_ID = 8;

/** Newest first, as the server sends them. */
export function AuditTable({ entries }: { readonly entries: readonly AuditRecord[] }): VNode {
  if (entries.length === 0) return <p class="empty">No entry matches.</p>;
  return (
    <Table label="Entries" headings={HEADINGS}>
      {entries.map((entry, index) => (
        <Entry key={`${entry.hq} ${entry.seq ?? `${entry.time} ${index}`}`} entry={entry} />
      ))}
    </Table>
  );
}

function Entry({ entry }: { readonly entry: AuditRecord }): VNode {
  const { time, user, method, action, result, session, remote, address, hq, details } = entry;
  return (
    <tr>
      <td>
        <time dateTime={time}>{new Date(time).toLocaleString()}</time>
      </td>
      <td title={method}>{user}</td>
      <td class="mono">{action}</td>
      <td>
        <span class={`badge ${TONES[result] ?? ""}`}>{result}</span>
      </td>
      <td class="mono" title={session}>
        {[session?.slice(0, SHOWN_ID), remote].filter(Boolean).join(" on ")}
      </td>
      <td class="mono" title={hq && `At the HQ ${hq}`}>
        {address}
      </td>
      <td class="mono audit-details">{details !== undefined && JSON.stringify(details)}</td>
    </tr>
  );
}
