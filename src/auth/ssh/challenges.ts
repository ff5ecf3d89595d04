import { randomBytes, randomUUID } from "node:crypto";
import { ExpiringMap } from "../../lib/data/expiring-map.ts";
import { MAX_SSH_CHALLENGES, SSH_CHALLENGE_LIFETIME_MS } from "../../protocol/limits.ts";
import type { Challenge } from "../../protocol/schemas/auth.ts";

/** What was asked of whom. */
export type OpenChallenge = { readonly user: string; readonly bytes: Uint8Array };

const CHALLENGE_BYTES = 32;

/**
 * What is to be signed (specification 5.3): 32 random bytes for one user, good for one try within 5 minutes. Nothing is
 * looked up for one, so that it says nothing about the user. At most MAX_SSH_CHALLENGES are open at a time: over that
 * the oldest is forgotten, and whoever still wanted to answer it asks for another. Within the limit of API calls that
 * takes a hundred addresses a minute.
 */
export class Challenges {
  readonly #open: ExpiringMap<string, OpenChallenge>;
  readonly #wallClock: () => number;

  /** `now` in milliseconds, never going back; `wallClock` since 1970, for people. */
  constructor(clocks: { readonly now: () => number; readonly wallClock: () => number }) {
    this.#open = new ExpiringMap({
      ...{ lifetimeMs: SSH_CHALLENGE_LIFETIME_MS, maxEntries: MAX_SSH_CHALLENGES },
      now: clocks.now,
    });
    this.#wallClock = clocks.wallClock;
  }

  issue(user: string): Challenge {
    const challengeId = randomUUID();
    const bytes = randomBytes(CHALLENGE_BYTES);
    this.#open.set(challengeId, { user, bytes });
    return {
      ...{ challengeId, challenge: bytes.toString("base64") },
      expiresAt: this.#wallClock() + SSH_CHALLENGE_LIFETIME_MS,
    };
  }

  /** What was asked, for the first who answers only. `undefined`: unknown, answered or too old. */
  take(challengeId: string): OpenChallenge | undefined {
    return this.#open.take(challengeId);
  }
}
