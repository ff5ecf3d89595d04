// The hash chain of the audit log. Each line starts with its sequence number and the SHA-256 of the previous line
// without newline: {"seq":2,"prev":"<64 hex digits>","time":…}.
import { createHash } from "node:crypto";

export type ChainHead = { readonly seq: number; readonly hash: string };

/** The predecessor of the first line. */
export const GENESIS: ChainHead = { seq: 0, hash: "0".repeat(64) };

export type ChainLink = { readonly seq: number; readonly prev: string; readonly action: string };

/** These bytes contain sequence, hash, time and action. */
const LINK_BYTES = 256;
const LINK = /^\{"seq":([1-9]\d{0,15}),"prev":"([0-9a-f]{64})","time":"[^"]*","action":"([^"]*)"/;

/** Lines of `auditLine` as they follow `after` in the chain, each with the chain's head behind it. */
export function chainLines(
  lines: readonly string[],
  after: ChainHead,
): readonly { readonly text: string; readonly head: ChainHead }[] {
  let head = after;
  return lines.map((line) => {
    const seq = head.seq + 1;
    const text = `{"seq":${seq},"prev":"${head.hash}",${line.slice(1)}`;
    head = { seq, hash: hashOf(new TextEncoder().encode(text.slice(0, -1))) };
    return { text, head };
  });
}

/** `undefined` for a line that is not part of a chain. */
export function linkOf(line: Uint8Array): ChainLink | undefined {
  const start = new TextDecoder("latin1").decode(line.subarray(0, LINK_BYTES));
  const [, seq, prev, action] = LINK.exec(start) ?? [];
  if (prev === undefined || action === undefined) return undefined;
  return { seq: Number(seq), prev, action };
}

export function hashOf(bytes: Uint8Array): string {
  return createHash("sha256").update(bytes).digest("hex");
}
