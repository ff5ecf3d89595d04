import { ServiceError } from "../../protocol/errors.ts";
import { KEY_REFUSAL_MS, SLOW_REFUSAL_MEMORY_MS } from "../../protocol/limits.ts";
import type { Challenge } from "../../protocol/schemas/auth.ts";
import { EvenRefusal } from "../password/even-refusal.ts";
import type { Users } from "../users.ts";
import type { Challenges, OpenChallenge } from "./challenges.ts";
import { readPublicKey } from "./public-key.ts";
import { isSignedBy, readSignature } from "./signature.ts";
import type { UserKeys } from "./user-keys.ts";

/** What somebody brings to a challenge, as it came, and from where. */
export type KeyProof = {
  readonly publicKey: string;
  readonly signature: string;
  readonly address: string | undefined;
};

type KeyLoginParts = {
  readonly challenges: Pick<Challenges, "issue" | "take">;
  readonly keys: Pick<UserKeys, "admit">;
  readonly users: Pick<Users, "mayLogIn">;
  /** In milliseconds, never going back. */
  readonly now: () => number;
  readonly pause: (ms: number) => Promise<unknown>;
};

/**
 * Login with an SSH key (specification 5.3, contract 5.2). Whatever is wrong, the answer is the same, and it comes
 * KEY_REFUSAL_MS after the question, or a multiple (see EvenRefusal): neither says whether there is such a user, whether
 * that user has keys, or whose a key is.
 */
export class KeyLogin {
  readonly #parts: KeyLoginParts;
  readonly #even: EvenRefusal;

  constructor(parts: KeyLoginParts) {
    this.#parts = parts;
    const { now, pause } = parts;
    this.#even = new EvenRefusal({ stepMs: KEY_REFUSAL_MS, memoryMs: SLOW_REFUSAL_MEMORY_MS, now, pause });
  }

  /** Something to sign, for a user who need not exist. */
  challenge(user: string): Challenge {
    return this.#parts.challenges.issue(user);
  }

  /** Uses a challenge up, whatever comes of it. `undefined` where there is none to use. */
  take(challengeId: string): OpenChallenge | undefined {
    return this.#parts.challenges.take(challengeId);
  }

  /** The user whom the proof logs in. ServiceError `invalid_credentials`. */
  async prove(challenge: OpenChallenge | undefined, proof: KeyProof): Promise<string> {
    return await this.#even.level(async () => {
      if (challenge !== undefined && (await this.#isProven(challenge, proof))) return challenge.user;
      throw new ServiceError(
        "invalid_credentials",
        "this key does not log that user in, or the challenge was used or is too old: ask for a new one",
      );
    });
  }

  /** The signature first: without the private key nobody sets anything in motion. */
  async #isProven({ user, bytes }: OpenChallenge, proof: KeyProof): Promise<boolean> {
    const { users, keys } = this.#parts;
    const key = readPublicKey(proof.publicKey);
    const signature = readSignature(proof.signature);
    if (key === undefined || signature === undefined || !isSignedBy(key, bytes, signature)) return false;
    return users.mayLogIn(user) && (await keys.admit(user, key, proof.address));
  }
}
