// Whether a server starts new sessions. Running ones are not affected.
import { existsSync } from "node:fs";
import { rm } from "node:fs/promises";
import type { Routes } from "../http/route.ts";
import type { CordonState } from "../http/routes/session-routes.ts";
import { Emitter } from "../lib/async/emitter.ts";
import { Mutex } from "../lib/async/mutex.ts";
import { writeJsonFile } from "../lib/fs/atomic-file.ts";
import type { Log } from "../log.ts";
import type { SetCordon } from "../protocol/schemas/remote.ts";

const OWNER_ONLY = 0o600;

export class Cordon implements CordonState {
  readonly machine: string;
  isCordoned: boolean;
  readonly #path: string;
  readonly #log: Pick<Log, "info">;
  readonly #changes = new Emitter<boolean>();
  readonly #mutex = new Mutex();

  /** `path`: a file that exists while the server is cordoned, so that it stays so after a restart. */
  constructor({ machine, path, log }: { machine: string; path: string; log: Pick<Log, "info"> }) {
    this.machine = machine;
    this.#path = path;
    this.#log = log;
    this.isCordoned = existsSync(path);
  }

  watch(listener: (isCordoned: boolean) => void): Disposable {
    return this.#changes.on(listener);
  }

  routes(): Pick<Routes, "cordonServer"> {
    return {
      cordonServer: async ({ body }) => {
        await this.#mutex.take(() => this.#set(body));
        return { success: true, machine: this.machine, cordoned: this.isCordoned };
      },
    };
  }

  async #set({ cordoned, untilRestart = false }: SetCordon): Promise<void> {
    if (!cordoned) await rm(this.#path, { force: true });
    else if (!untilRestart) await writeJsonFile(this.#path, { since: new Date().toISOString() }, OWNER_ONLY);
    if (this.isCordoned === cordoned) return;
    this.isCordoned = cordoned;
    this.#log.info({ machine: this.machine }, cordoned ? "cordoned" : "uncordoned");
    this.#changes.emit(cordoned);
  }
}
