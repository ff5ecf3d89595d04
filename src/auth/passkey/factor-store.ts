// What a user has as a second factor, and where it is kept.
import { z } from "zod";
import { readJsonFile, writeJsonFile } from "../../lib/json-file.ts";
import { KeyedTurns } from "../../lib/keyed-turns.ts";
import { Passkey } from "../../protocol/passkey.ts";

/** `publicKey`: in COSE form, base64url. `counter`: of the authenticator; 0 where it has none. */
const KeptPasskey = Passkey.extend({
  publicKey: z.string(),
  counter: z.int(),
  transports: z.array(z.string()),
});
export type KeptPasskey = z.infer<typeof KeptPasskey>;

/** `recovery`: SHA-256 of the codes that were not used. */
export const Factors = z.object({ passkeys: z.array(KeptPasskey), recovery: z.array(z.string()) });
export type Factors = z.infer<typeof Factors>;

export const NO_FACTORS: Factors = { passkeys: [], recovery: [] };

/** Where the second factors of users are kept. */
export type FactorStore = {
  get(user: string): Promise<Factors>;
  /** Resolves when it is kept, and counts only then. */
  put(user: string, factors: Factors): Promise<void>;
};

const Stored = z.object({ version: z.literal(1), users: z.record(z.string(), Factors) });

/** A file of mode 0600. One that is damaged is no reason to let anybody in by the password alone: it throws. */
export async function openFactorFile(path: string): Promise<FactorStore> {
  const stored = await readJsonFile(path, (value) => Stored.parse(value));
  let users = new Map(Object.entries(stored?.users ?? {}));
  const turns = new KeyedTurns();
  return {
    get: async (user) => users.get(user) ?? NO_FACTORS,
    put: (user, factors) =>
      turns.take(path, async () => {
        const next = new Map(users).set(user, factors);
        await writeJsonFile(path, { version: 1, users: Object.fromEntries(next) }, 0o600);
        users = next;
      }),
  };
}
