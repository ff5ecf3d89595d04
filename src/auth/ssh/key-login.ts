import { randomBytes, randomUUID } from "node:crypto";
import { z } from "zod";
import type { TicketStore } from "../../lib/data/live-records.ts";
import { ServiceError } from "../../protocol/errors.ts";
import { KEY_REFUSAL_MS, SSH_CHALLENGE_LIFETIME_MS } from "../../protocol/limits.ts";
import type { Challenge } from "../../protocol/schemas/auth.ts";
import { evenRefusal } from "../password/even-refusal.ts";
import { SSH_CHALLENGES, Tickets } from "../tokens/tickets.ts";
import type { Users } from "../users.ts";
import { isSignedBy, readPublicKey, readSignature } from "./public-key.ts";
import type { KeyCheck } from "./user-keys.ts";

/** A client's answer to a challenge, not validated yet. */
export type KeyProof = {
  readonly publicKey: string;
  readonly signature: string;
  readonly address: string | undefined;
};

/** `challenge`: base64. */
const OpenChallenge = z.object({ user: z.string(), challenge: z.string() });
type OpenChallenge = z.infer<typeof OpenChallenge>;

type KeyLoginParts = {
  readonly isKeyOf: KeyCheck;
  readonly users: Pick<Users, "mayLogIn">;
  /** Keeps open challenges; HQs may share it. */
  readonly tickets: TicketStore;
  /** Monotonic milliseconds. */
  readonly now: () => number;
  /** Milliseconds since 1970. */
  readonly wallClock: () => number;
  readonly pause: (ms: number) => Promise<unknown>;
};

const CHALLENGE_BYTES = 32;

/**
 * Login with an SSH key (specification 5.3, contract 5.2). Every refusal has the same message and comes after
 * KEY_REFUSAL_MS or a multiple of it, so that it does not reveal whether the user exists, has keys, or whose a key is.
 */
export class KeyLogin {
  readonly #parts: KeyLoginParts;
  readonly #even: ReturnType<typeof evenRefusal>;
  readonly #challenges: Tickets<OpenChallenge>;

  constructor(parts: KeyLoginParts) {
    const { now, pause, tickets } = parts;
    this.#parts = parts;
    this.#even = evenRefusal({ stepMs: KEY_REFUSAL_MS, now, pause });
    this.#challenges = new Tickets(SSH_CHALLENGES, OpenChallenge, tickets);
  }

  /** 32 random bytes to sign. Nothing is looked up, so that it does not reveal whether the user exists. */
  async challenge(user: string): Promise<Challenge> {
    const challenge = randomBytes(CHALLENGE_BYTES).toString("base64");
    const expiresAt = this.#parts.wallClock() + SSH_CHALLENGE_LIFETIME_MS;
    const challengeId = await this.#challenges.issue({ user, challenge }, randomUUID());
    return { challengeId, challenge, expiresAt };
  }

  /** A challenge can be taken once. `undefined`: unknown, taken or expired. */
  take(challengeId: string): Promise<OpenChallenge | undefined> {
    return this.#challenges.take(challengeId);
  }

  /** The user whom the proof logs in. ServiceError `invalid_credentials`. */
  async prove(challenge: OpenChallenge | undefined, proof: KeyProof): Promise<string> {
    return await this.#even(async () => {
      if (challenge !== undefined && (await this.#isProven(challenge, proof))) return challenge.user;
      const message =
        "this key does not log that user in, or the challenge was used or has expired: ask for a new one";
      throw new ServiceError("invalid_credentials", message);
    });
  }

  /** Checks the signature first: without the private key a request causes no work. */
  async #isProven({ user, challenge }: OpenChallenge, proof: KeyProof): Promise<boolean> {
    const { users, isKeyOf } = this.#parts;
    const bytes = Buffer.from(challenge, "base64");
    const key = readPublicKey(proof.publicKey);
    const signature = readSignature(proof.signature);
    if (key === undefined || signature === undefined || !isSignedBy(key, bytes, signature)) return false;
    return users.mayLogIn(user) && (await isKeyOf(user, key, proof.address));
  }
}
