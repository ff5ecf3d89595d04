import type { Client } from "../../protocol/client/client.ts";
import type { SessionRecord } from "../../protocol/schemas/session.ts";
import { saveFile } from "../save-file.ts";
import { nameWords } from "./words.ts";

/** A download that does not end by then is given up. */
const DOWNLOAD_TIMEOUT_MS = 10 * 60_000;

/**
 * Saves what is recorded up to now as a file. The browser collects it on disk as a Blob before: a link could not carry
 * the token, and a token in a link would be in the history.
 */
export async function saveRecording(client: Client, record: SessionRecord): Promise<void> {
  const signal = AbortSignal.timeout(DOWNLOAD_TIMEOUT_MS);
  const parts: BlobPart[] = [];
  for await (const part of await client.recording(record.id, { follow: false }, signal)) {
    parts.push(new Uint8Array(part));
  }
  saveFile(new Blob(parts, { type: "application/x-asciicast" }), `${fileName(record)}.cast`);
}

function fileName(record: SessionRecord): string {
  const { id } = record;
  const safe = nameWords(record)
    .replace(/[^\p{L}\p{N}._-]+/gu, "-")
    .replace(/^[-.]+|[-.]+$/g, "");
  return `${safe === "" ? "session" : safe.slice(0, 80)}-${id}`;
}
