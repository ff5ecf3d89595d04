// A registry whose file is an array, and whose remotes answer as they are told to.
import {
  FileRegistryStore,
  type RegistryContents,
  type RegistryFile,
} from "../../../src/hq/registry/file-store.ts";
import { type IsAlive, Registry } from "../../../src/hq/registry/registry.ts";
import type { Remote } from "../../../src/hq/remote-state.ts";
import type { RegisterRemote } from "../../../src/protocol/schemas/remote.ts";

export class MemoryStore implements RegistryFile {
  contents: RegistryContents = { remotes: [], down: [] };
  saves = 0;
  /** What a save waits for. */
  disk: Promise<void> = Promise.resolve();

  get remotes(): readonly Remote[] {
    return this.contents.remotes;
  }

  async load(): Promise<RegistryContents> {
    return this.contents;
  }

  async save(contents: RegistryContents): Promise<void> {
    this.saves += 1;
    await this.disk;
    this.contents = contents;
  }
}

export function registration(name: string, more: Partial<RegisterRemote> = {}): RegisterRemote {
  return { id: `id-of-${name}`, name, url: `http://${name}.test`, token: `token-of-${name}`, ...more };
}

/** Its clock goes on by a second with each look, unless another one is given. `isAlive`: nobody unless it says so. */
export async function memoryRegistry(
  parts: {
    readonly store?: RegistryFile;
    readonly isAlive?: IsAlive;
    readonly onSaveFailure?: (error: unknown) => void;
    readonly now?: (() => Date) | undefined;
  } = {},
): Promise<Registry> {
  const { store = new MemoryStore(), isAlive = async () => false, onSaveFailure = () => {} } = parts;
  const { now = tickingClock() } = parts;
  const file = new FileRegistryStore({ file: store, onSaveFailure, now });
  return await Registry.open({ store: file, isAlive, now });
}

/** As the health check does it when that remote does not answer. */
export async function expire(registry: Registry, name: string): Promise<void> {
  const remote = registry.byName(name);
  if (remote === undefined) throw new Error(`no remote ${name}`);
  await registry.checked(remote, false);
  await registry.expire(remote);
}

function tickingClock(): () => Date {
  let seconds = 0;
  return () => {
    seconds += 1;
    return new Date(seconds * 1000);
  };
}
