import { scrub } from "../../lib/redact.ts";
import type { AuditDetails, AuditEntry } from "../entry.ts";

/** Of one text, in UTF-16 units. */
const MAX_TEXT = 256;
const MAX_DETAIL_TEXT = 1_024;
/** Of all texts in details. */
const MAX_DETAILS_TEXT = 2_048;
const MAX_DETAILS = 16;
const MAX_LIST = 64;
/** JSON escapes characters below U+0020; terminals and editors interpret these as well. */
const CONTROLS = /[\u007f-\u009f\p{Cf}\p{Zl}\p{Zp}]/gu;

type Budget = { left: number };

/**
 * An entry as one line of JSON with a newline, at most 20 kB, without terminal control characters and recognisable
 * secrets.
 */
export function auditLine({ details, ...entry }: AuditEntry, time: Date): string {
  const { action, result, ...texts } = entry;
  const bounded = Object.entries(texts).map(([name, text]) => [name, text && cut(text, MAX_TEXT)]);
  const line = JSON.stringify({
    ...{ time: time.toISOString(), action, result, ...Object.fromEntries(bounded) },
    details: details && boundedDetails(details),
  });
  return `${line.replaceAll(CONTROLS, escaped)}\n`;
}

function boundedDetails(details: AuditDetails): AuditDetails | undefined {
  const budget = { left: MAX_DETAILS_TEXT };
  const members = Object.entries(details).filter(([, value]) => value !== undefined);
  if (members.length === 0) return undefined;
  return Object.fromEntries(
    members.slice(0, MAX_DETAILS).map(([name, value]) => {
      if (typeof value === "object") return [name, takenList(value, budget)];
      return [name, typeof value === "string" ? taken(value, budget) : value];
    }),
  );
}

function takenList(texts: readonly string[], budget: Budget): readonly string[] {
  const list: string[] = [];
  for (const text of texts) {
    if (list.length === MAX_LIST || budget.left === 0) return [...list, "…"];
    list.push(taken(text, budget));
  }
  return list;
}

function taken(text: string, budget: Budget): string {
  const kept = cut(text, Math.min(MAX_DETAIL_TEXT, budget.left));
  budget.left = Math.max(0, budget.left - kept.length);
  return kept;
}

function cut(text: string, length: number): string {
  const clean = scrub(text);
  return clean.length > length ? `${clean.slice(0, length)}…` : clean;
}

function escaped(character: string): string {
  return Array.from({ length: character.length }, (_, index) => {
    return `\\u${character.charCodeAt(index).toString(16).padStart(4, "0")}`;
  }).join("");
}
