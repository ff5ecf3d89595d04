import { z } from "zod";
import { readJsonFile, writeJsonFile } from "../lib/json-file.ts";
import type { Secret } from "../lib/secret.ts";
import type { RegistryStore } from "./registry.ts";
import { SealedRemote, TokenSeal } from "./token-seal.ts";

const OWNER_ONLY = 0o600;

const Stored = z.object({ version: z.literal(1), remotes: z.array(SealedRemote) });

/** The registry as a file of the control directory, its tokens sealed with `secret`. */
export function registryFile(path: string, secret: Secret): RegistryStore {
  const seal = new TokenSeal(secret);
  return {
    load: async () => {
      const stored = await readJsonFile(path, (value) => Stored.parse(value));
      return (stored?.remotes ?? []).flatMap((remote) => seal.opened(remote) ?? []);
    },
    save: async (remotes) => {
      const sealed = remotes.map((remote) => seal.sealed(remote));
      await writeJsonFile(path, { version: 1, remotes: sealed }, OWNER_ONLY);
    },
  };
}
