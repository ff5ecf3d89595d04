import type { ShareMode } from "../../protocol/schemas/share.ts";
import { ageWords } from "./words.ts";

/** What a link is for. */
export function accessWords({ mode, history = true }: { mode: ShareMode; history?: boolean }): string {
  return `${mode === "view" ? "to watch" : "to type"}${history ? "" : ", without what was before"}`;
}

/** How long a link still works; both in milliseconds since 1970. */
export function leftWords(untilMs: number, nowMs: number): string {
  const left = ageWords(nowMs, untilMs);
  return left === "just now" ? "less than a minute left" : `${left} left`;
}
