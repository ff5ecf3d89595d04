// Where users' second factors are kept.
import { z } from "zod";
import { Mutex } from "../../lib/async/mutex.ts";
import type { LiveRecord, SharedRecordStore } from "../../lib/data/live-records.ts";
import { readJsonFile, writeJsonFile } from "../../lib/fs/atomic-file.ts";
import { isRecord } from "../../protocol/errors.ts";
import { Passkey } from "../../protocol/schemas/passkey.ts";

/** `publicKey`: COSE, base64url. `counter`: the authenticator's; 0 if it has none. */
const KeptPasskey = Passkey.extend({
  publicKey: z.string(),
  counter: z.int(),
  transports: z.array(z.string()),
});
export type KeptPasskey = z.infer<typeof KeptPasskey>;

/** `recovery`: SHA-256 of the unused codes. */
const Factors = z.object({ passkeys: z.array(KeptPasskey), recovery: z.array(z.string()) });
type Factors = z.infer<typeof Factors>;

const NO_FACTORS: Factors = { passkeys: [], recovery: [] };

export type FactorStore = {
  get(user: string): Promise<Factors>;
  /** Changes of one user run one after another, across all HQs. Resolves when stored; rejects as `change` does. */
  change(user: string, change: (factors: Factors) => Factors | Promise<Factors>): Promise<void>;
};

/** By name. A record of zod drops a user named `__proto__`. */
const Users = z.preprocess(
  (users) => (isRecord(users) ? new Map(Object.entries(users)) : users),
  z.map(z.string(), Factors),
);
const Stored = z.object({ version: z.literal(1), users: Users });

/** A file with mode 0600. Throws if it is damaged: otherwise the password alone would log in. */
export async function openFactorFile(path: string): Promise<FactorStore> {
  const stored = await readJsonFile(path, (value) => Stored.parse(value));
  let users: ReadonlyMap<string, Factors> = stored?.users ?? new Map();
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

/** Shared by the HQs of a registry. ServiceError `registry_unavailable`: nothing was changed. */
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

function factorsOf(record: LiveRecord | undefined): Factors {
  return record === undefined ? NO_FACTORS : Factors.parse(record.value);
}
