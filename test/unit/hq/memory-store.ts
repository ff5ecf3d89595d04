// A registry whose file is in memory and whose remotes answer on demand.
import { type IsAlive, Registry } from "../../../src/hq/registry/registry.ts";
import { SealedTable } from "../../../src/hq/registry/tables.ts";
import {
  NO_TEXTS,
  type TableFile,
  TablesFile,
  type TableTexts,
} from "../../../src/hq/registry/tables-file.ts";
import { RegistryEntry, type Remote } from "../../../src/hq/remote-state.ts";
import { Seal } from "../../../src/lib/seal.ts";
import { Secret } from "../../../src/lib/secret.ts";
import type { RegisterRemote } from "../../../src/protocol/schemas/remote.ts";

export const SEAL = new Seal(Secret.fromText("a secret of at least 32 bytes, as it were"));

export class MemoryStore implements TableFile {
  texts: TableTexts = NO_TEXTS;
  saves = 0;
  /** Saves wait for this. */
  disk: Promise<void> = Promise.resolve();

  get remotes(): readonly Remote[] {
    return remotesOf(this.texts);
  }

  async load(): Promise<TableTexts> {
    return this.texts;
  }

  async save(texts: TableTexts): Promise<void> {
    this.saves += 1;
    await this.disk;
    this.texts = texts;
  }
}

/** The registrations among the entries of a store. */
export function remotesOf({ remotes }: TableTexts, seal = SEAL): readonly Remote[] {
  const table = new SealedTable(new TablesFile({ file: new MemoryStore() }), seal, "remotes", RegistryEntry);
  return [...remotes].flatMap(([name, text]) => table.open(name, text)?.remote ?? []);
}

export function registration(name: string, more: Partial<RegisterRemote> = {}): RegisterRemote {
  return { id: `id-of-${name}`, name, url: `http://${name}.test`, token: `token-of-${name}`, ...more };
}

/** By default no remote is alive, and the clock advances by a second with each reading. */
export async function memoryRegistry(
  parts: {
    readonly store?: TableFile;
    readonly isAlive?: IsAlive;
    readonly onSaveFailure?: (error: unknown) => void;
    readonly onSavedAgain?: () => void;
    readonly now?: (() => Date) | undefined;
  } = {},
): Promise<Registry> {
  const { store = new MemoryStore(), isAlive = async () => false, now = tickingClock(), ...told } = parts;
  const tables = new TablesFile({ file: store, ...told });
  return await Registry.open({ tables, seal: SEAL, isAlive, now });
}

/** Removes a remote as the health check does without an answer. */
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
