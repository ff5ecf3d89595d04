import { randomUUID } from "node:crypto";
import { z } from "zod";
import { readJsonFile, writeJsonFile } from "../../lib/fs/atomic-file.ts";

const OWNER_ONLY = 0o600;
const Kept = z.object({ id: z.uuid(), name: z.string() });

/**
 * Who a remote of that name is to its HQ: made once and kept, so that the machine is the same one after a restart.
 * Under another name it is another machine: a copied disk does not take the place of its original.
 */
export async function keptRemoteId(path: string, name: string): Promise<string> {
  const kept = await readJsonFile(path, (value) => Kept.parse(value));
  if (kept?.name === name) return kept.id;
  const id = randomUUID();
  await writeJsonFile(path, { id, name }, OWNER_ONLY);
  return id;
}
