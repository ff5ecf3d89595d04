// The sealed last line of the audit log, which reveals removed last lines and a rewritten chain.
import { createHmac, randomBytes } from "node:crypto";
import { readFile } from "node:fs/promises";
import { dirname, relative, resolve } from "node:path";
import { z } from "zod";
import { createFileOnce, readJsonFile, unlessMissing, writeJsonFile } from "../../lib/fs/atomic-file.ts";
import { Secret, sameBytes } from "../../lib/secret.ts";
import type { Log } from "../../log.ts";
import { ServiceError } from "../../protocol/errors.ts";
import type { ChainHead } from "./chain.ts";

const OWNER_ONLY = 0o600;
const KEY_BYTES = 32;

const HeadFile = z.object({ log: z.string(), seq: z.int().min(0), hash: z.string(), hmac: z.string() });

/** `head` and `key`: files of mode 0600 in the control directory. `log`: the audit log. */
export type SealFiles = { readonly head: string; readonly key: string; readonly log: string };

export type SealedHead = {
  /** `undefined`: nothing was sealed for this log. ServiceError `internal_error`: another key sealed it. */
  read(): Promise<ChainHead | undefined>;
  /** Never rejects: until the next seal the last lines are not sealed. */
  seal(head: ChainHead): Promise<void>;
};

export function sealedHead(files: SealFiles, { error: report }: Pick<Log, "error">): SealedHead {
  const log = nameOf(files);
  let key: Secret | undefined;
  let isFailing = false;
  return {
    read: () => readSealedHead(files),
    seal: async ({ seq, hash }) => {
      try {
        key ??= await madeKey(files.key);
        const value = { log, seq, hash, hmac: hmacOf({ log, seq, hash }, key) };
        await writeJsonFile(files.head, value, OWNER_ONLY, { isDurable: false });
        isFailing = false;
      } catch (error) {
        if (!isFailing) report({ error, path: files.head }, "audit head not sealed");
        isFailing = true;
      }
    },
  };
}

/** Does not create files. */
export async function readSealedHead(files: SealFiles): Promise<ChainHead | undefined> {
  const head = await readJsonFile(files.head, (value) => HeadFile.parse(value));
  if (head === undefined || head.log !== nameOf(files)) return undefined;
  const key = await readKey(files.key);
  if (key === undefined || !sameBytes(hmacOf(head, key))(head.hmac)) {
    throw new ServiceError("internal_error", `${files.head} was not sealed with ${files.key}`);
  }
  return { seq: head.seq, hash: head.hash };
}

/** Relative to the control directory, which may be restored elsewhere. */
function nameOf({ head, log }: SealFiles): string {
  return relative(dirname(resolve(head)), resolve(log));
}

function hmacOf(head: ChainHead & { readonly log: string }, key: Secret): string {
  const text = `ttyhq audit head\n${head.log}\n${head.seq}\n${head.hash}`;
  return createHmac("sha256", key.bytes()).update(text).digest("hex");
}

async function madeKey(path: string): Promise<Secret> {
  return (await readKey(path)) ?? new Secret(await createFileOnce(path, randomBytes(KEY_BYTES), OWNER_ONLY));
}

async function readKey(path: string): Promise<Secret | undefined> {
  const bytes = await readFile(path).catch(unlessMissing);
  return bytes && new Secret(bytes);
}
