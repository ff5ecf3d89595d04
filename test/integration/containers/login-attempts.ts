// Correct and wrong logins of system users, and the properties of every refusal.
import { expect } from "vitest";
import type { LoginAttempt, LoginOutcome } from "./system-container.ts";

const REFUSED = { error: "wrong user name or password", code: "invalid_credentials", details: {} };
/** The minimum duration of a refusal, and its maximum on an idle machine. */
export const REFUSAL_MS = 4_000;

let lastAddress = 0;

/** Each from a different address. */
export function attempts(
  ...pairs: readonly (readonly [username: string, password: string])[]
): LoginAttempt[] {
  return pairs.map(([username, password]) => {
    lastAddress++;
    return { username, password, from: `127.0.${lastAddress >> 8}.${lastAddress & 255 || 1}` };
  });
}

export function expectRefused(outcomes: readonly LoginOutcome[]): void {
  for (const { status, text, ms } of outcomes) {
    expect({ status, body: JSON.parse(text) }).toEqual({ status: 401, body: REFUSED });
    expect(ms).toBeGreaterThanOrEqual(REFUSAL_MS - 1);
  }
}
