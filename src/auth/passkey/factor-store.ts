// What a user has as a second factor, and where it is kept.
import { z } from "zod";
import { Mutex } from "../../lib/async/mutex.ts";
import type { LiveRecord, SharedRecordStore } from "../../lib/data/live-records.ts";
import { readJsonFile, writeJsonFile } from "../../lib/fs/atomic-file.ts";
import { Passkey } from "../../protocol/schemas/passkey.ts";

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
  /**
   * One change after the other, at whichever HQ: `change` gets what the last one made. Resolves when it is kept, and counts
   * only then. Rejects as `change` does.
   */
  change(user: string, change: (factors: Factors) => Factors | Promise<Factors>): Promise<void>;
};

const Stored = z.object({ version: z.literal(1), users: z.record(z.string(), Factors) });

/** A file of mode 0600. One that is damaged is no reason to let anybody in by the password alone: it throws. */
export async function openFactorFile(path: string): Promise<FactorStore> {
  const stored = await readJsonFile(path, (value) => Stored.parse(value));
  let users = new Map(Object.entries(stored?.users ?? {}));
  const mutex = new Mutex();
  return {
    get: async (user) => users.get(user) ?? NO_FACTORS,
    change: (user, change) =>
      mutex.take(async () => {
        const next = new Map(users).set(user, await change(users.get(user) ?? NO_FACTORS));
        await writeJsonFile(path, { version: 1, users: Object.fromEntries(next) }, 0o600);
        users = next;
      }),
  };
}

const KIND = "second-factor";
/** The end of the year 9999. */
const NEVER_S = 253_402_300_799;

/** Of all HQs that share a registry. ServiceError `registry_unavailable`: it changes nothing while that is out of reach. */
export function sharedFactors(records: Pick<SharedRecordStore, "latest" | "update">): FactorStore {
  return {
    get: async (user) => factorsOf(await records.latest(idOf(user))),
    change: (user, change) =>
      records.update(idOf(user), async (latest) => {
        const value = await change(factorsOf(latest));
        return { id: idOf(user), kind: KIND, expiresAtS: NEVER_S, value };
      }),
  };
}

function idOf(user: string): string {
  return `${KIND}:${user}`;
}

/** One that is damaged throws, as in a file. */
function factorsOf(record: LiveRecord | undefined): Factors {
  return record === undefined ? NO_FACTORS : Factors.parse(record.value);
}
