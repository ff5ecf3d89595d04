import { z } from "zod";
import { readJsonFile, writeJsonFile } from "../../lib/fs/atomic-file.ts";
import type { Secret } from "../../lib/secret.ts";
import type { RegistryFile } from "./file-store.ts";
import { SealedRemote, TokenSeal } from "./token-seal.ts";

const OWNER_ONLY = 0o600;

const Stored = z.object({
  version: z.literal(1),
  remotes: z.array(SealedRemote),
  /** Remotes that are down. */
  silent: z.array(z.object({ name: z.string(), since: z.string() })).optional(),
});

/** The registry as a file of the control directory, its tokens sealed with `secret`. */
export function registryFile(path: string, secret: Secret): RegistryFile {
  const seal = new TokenSeal(secret);
  return {
    load: async () => {
      const stored = await readJsonFile(path, (value) => Stored.parse(value));
      const remotes = (stored?.remotes ?? []).flatMap((remote) => seal.opened(remote) ?? []);
      return { remotes, down: stored?.silent ?? [] };
    },
    save: async ({ remotes, down }) => {
      const sealed = remotes.map((remote) => seal.sealed(remote));
      await writeJsonFile(path, { version: 1, remotes: sealed, silent: down }, OWNER_ONLY);
    },
  };
}
