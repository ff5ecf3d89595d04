import type { ShareMode } from "../../../protocol/schemas/share.ts";
import { ageWords } from "../words.ts";

/** The purpose of a link. */
export function accessWords(share: { mode: ShareMode; resize?: boolean; history?: boolean }): string {
  const { mode, resize = false, history = true } = share;
  const what = mode === "view" ? "to watch" : resize ? "to type and resize" : "to type";
  return `${what}${history ? "" : ", without what was before"}`;
}

/** The remaining lifetime of a link; both in milliseconds since 1970. */
export function leftWords(untilMs: number, nowMs: number): string {
  const left = ageWords(nowMs, untilMs);
  return left === "just now" ? "less than a minute left" : `${left} left`;
}
