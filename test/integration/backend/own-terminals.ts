// Terminals of this process, in a control directory of their own.
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { LocalSessions } from "../../../src/sessions/local-sessions.ts";
import { Screens } from "../../../src/sessions/screen/screens.ts";
import { openControlDir } from "../../../src/sessions/storage/control-dir.ts";
import type { StatusSource } from "../../../src/sessions/user-folders.ts";
import type { BackendUnderTest } from "./stage.ts";

/** The user of the programs. */
export const TESTER = "tester";

export async function ownTerminals({
  folders,
  ...more
}: {
  readonly outputNewsMs?: number;
  readonly folders?: StatusSource;
} = {}): Promise<BackendUnderTest & { readonly backend: LocalSessions }> {
  const path = await mkdtemp(join(tmpdir(), "ttyhq-local-"));
  const quiet = { info: () => {}, warn: () => {}, error: () => {} };
  const backend = new LocalSessions({
    controlDir: openControlDir(path),
    screens: new Screens(),
    log: quiet,
    env: process.env,
    account: { user: TESTER, home: path, shell: "/bin/sh" },
    maxRecordingBytes: 64 * 1024 * 1024,
    recordInput: false,
    now: () => performance.now(),
    ...more,
  });
  await backend.recover(folders);
  return {
    backend,
    [Symbol.asyncDispose]: async () => {
      await backend[Symbol.asyncDispose]();
      await rm(path, { recursive: true });
    },
  };
}
