import type { VNode } from "preact";
import type { AuditRecord } from "../../protocol/schemas/audit.ts";

const TONES: Readonly<Record<string, string>> = { ok: "good", refused: "bad", failed: "warn" };

/** Of a session; the title has all of it. */
const SHOWN_ID = 8;

/** Newest first, as the server sends them. */
export function AuditTable({ entries }: { readonly entries: readonly AuditRecord[] }): VNode {
  if (entries.length === 0) return <p class="empty">No entry matches.</p>;
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: it scrolls, also by keyboard.
    <section class="table-scroll" aria-label="Entries" tabIndex={0}>
      <table class="audit">
        <thead>
          <tr>
            {["Time", "User", "Action", "Result", "Session", "From", "Details"].map((heading) => (
              <th key={heading} scope="col">
                {heading}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {entries.map((entry, index) => (
            <Entry key={entry.seq ?? `${entry.time} ${index}`} entry={entry} />
          ))}
        </tbody>
      </table>
    </section>
  );
}

function Entry({ entry }: { readonly entry: AuditRecord }): VNode {
  const { time, user, method, action, result, session, remote, address, details } = entry;
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
      <td class="mono">{address}</td>
      <td class="mono audit-details">{details !== undefined && JSON.stringify(details)}</td>
    </tr>
  );
}
