// The audit logs of several HQs as one: each sends its lines to their registry as well, and all read them there.
import type { SharedLines } from "../lib/data/live-records.ts";
import { MAX_AUDIT_PAGE_BYTES, MAX_AUDIT_SCAN_BYTES } from "../protocol/limits.ts";
import { type AuditPage, AuditRecord } from "../protocol/schemas/audit.ts";
import { entryIn } from "./file/log-lines.ts";
import { fits, type Query } from "./file/reader.ts";
import type { AuditReceiver } from "./ship/shipper.ts";

const LINES_AT_ONCE = 500;

/** `hq`: the host of this HQ. */
export function registryReceiver(lines: SharedLines, hq: string): AuditReceiver {
  return {
    name: "registry",
    deliver: async (texts) => {
      await lines.append(hq, texts);
      return texts.length;
    },
    [Symbol.dispose]: () => {},
  };
}

/**
 * As `readAudit`, of all HQs, in the order in which their lines came to the registry. A line that came twice, since an answer
 * was lost, is in a page once. Throws `registry_unavailable`.
 */
export async function readSharedAudit(lines: SharedLines, query: Query): Promise<AuditPage> {
  const { limit = 100, cursor } = query;
  const found = new Map<string, AuditRecord>();
  let before = cursor?.replace(".", "-");
  let [bytes, scanned] = [0, 0];
  for (;;) {
    const some = await lines.before(before, LINES_AT_ONCE);
    for (const { id, from: hq, text } of some) {
      scanned += text.length;
      before = id;
      const entry = entryIn(text, AuditRecord);
      if (entry !== undefined && fits(entry, query)) {
        // Not by host and sequence number, which two HQs may have in common. Without a number two lost lines may be the same.
        found.set(entry.seq === undefined ? id : text, { ...entry, hq });
        bytes += text.length;
      }
      const isFull = found.size >= limit || bytes >= MAX_AUDIT_PAGE_BYTES || scanned >= MAX_AUDIT_SCAN_BYTES;
      if (isFull) return { entries: [...found.values()], next: id.replace("-", ".") };
    }
    if (some.length === 0) return { entries: [...found.values()] };
  }
}
