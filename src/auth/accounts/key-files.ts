// The files of authorized keys of one user, read with that user's rights.
import { join } from "node:path";
import { ServiceError } from "../../protocol/errors.ts";
import { readKeyFile } from "../ssh/key-file.ts";
import type { KeyFiles, Question } from "./questions.ts";

/** Below a home; `AuthorizedKeysFile` of an sshd that nobody configured. */
const FILES = [".ssh/authorized_keys", ".ssh/authorized_keys2"];

type KeyQuestion = Question & { readonly kind: "keys" };

/** A process that runs as root becomes the user, for good: it serves one question. */
export async function readKeyFiles({ home, user }: KeyQuestion): Promise<KeyFiles> {
  if (user !== undefined && process.geteuid?.() === 0) become(user);
  const uid = process.geteuid?.() ?? 0;
  const found: KeyFiles = [];
  for (const name of FILES) {
    try {
      const bytes = await readKeyFile(join(home, name), { uid, home });
      if (bytes !== undefined) found.push({ content: Buffer.from(bytes).toString("base64") });
    } catch (error) {
      if (!(error instanceof ServiceError)) throw error;
      found.push({ refusal: error.message });
    }
  }
  return found;
}

/** As sshd does before it opens the file, with the groups that the system lists for the user. */
function become({ name, uid, gid }: NonNullable<KeyQuestion["user"]>): void {
  // NOTE: Node has had it since 0.9, its types have not.
  if (!("initgroups" in process) || typeof process.initgroups !== "function")
    throw new Error("no initgroups");
  process.initgroups(name, gid);
  process.setgid?.(gid);
  process.setuid?.(uid);
}
