// A registry whose file is an array, and whose remotes answer as they are told to.
import { OwnLedger } from "../../../src/hq/own-ledger.ts";
import { Registry, type RegistryStore, type Remote } from "../../../src/hq/registry.ts";
import type { RegisterRemote } from "../../../src/protocol/remote.ts";

export class MemoryStore implements RegistryStore {
  remotes: readonly Remote[] = [];
  saves = 0;
  /** What a save waits for. */
  disk: Promise<void> = Promise.resolve();

  async load(): Promise<readonly Remote[]> {
    return this.remotes;
  }

  async save(remotes: readonly Remote[]): Promise<void> {
    this.saves += 1;
    await this.disk;
    this.remotes = remotes;
  }
}

export function registration(name: string, more: Partial<RegisterRemote> = {}): RegisterRemote {
  return { id: `id-of-${name}`, name, url: `http://${name}.test`, token: `token-of-${name}`, ...more };
}

/** Its clock goes on by a second with each look. `isAlive`: nobody unless it says so. */
export async function memoryRegistry(
  parts: {
    readonly store?: RegistryStore;
    readonly isAlive?: (remote: Remote) => Promise<boolean>;
    readonly onSaveFailure?: (error: unknown) => void;
  } = {},
): Promise<Registry> {
  const { store = new MemoryStore(), isAlive = async () => false, onSaveFailure = () => {} } = parts;
  let seconds = 0;
  const now = (): Date => {
    seconds += 1;
    return new Date(seconds * 1000);
  };
  return await Registry.open({ ledger: new OwnLedger({ store, onSaveFailure }), isAlive, now });
}
