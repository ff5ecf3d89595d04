import { withDeadline } from "../../../src/lib/async/deadline.ts";
import { collectBytes } from "../../../src/lib/data/collect.ts";
import type { SessionBackend, View } from "../../../src/sessions/backend.ts";
import { PATIENCE_MS } from "./patience.ts";

const MAX_VIEW_BYTES = 512 * 1024 * 1024;

/** Reads a view of a session to its end. */
export async function viewBytes(backend: SessionBackend, id: string, view: View): Promise<Uint8Array> {
  return withDeadline(
    async (signal) => collectBytes((await backend.view(id, view, signal)).body, MAX_VIEW_BYTES),
    PATIENCE_MS,
    `the view ${JSON.stringify(view)}`,
  );
}

export async function viewText(backend: SessionBackend, id: string, view: View): Promise<string> {
  return new TextDecoder().decode(await viewBytes(backend, id, view));
}
