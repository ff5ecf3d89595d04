import { mkdtempDisposable, readFile, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { Registry } from "../../../../src/hq/registry/registry.ts";
import { TablesFile, type TableTexts, tableFile } from "../../../../src/hq/registry/tables-file.ts";
import { Seal } from "../../../../src/lib/seal.ts";
import { Secret } from "../../../../src/lib/secret.ts";
import { expire, MemoryStore, registration, SEAL } from "../memory-store.ts";

const scratch = () => mkdtempDisposable(join(tmpdir(), "ttyhq-registry-"));

async function registryAt(path: string, seal = SEAL): Promise<Registry> {
  const tables = new TablesFile({ file: tableFile(path) });
  return await Registry.open({ tables, seal, isAlive: async () => false, now: () => new Date() });
}

test("a reopened registry has the same remotes, up and down", async () => {
  await using directory = await scratch();
  const path = join(directory.path, "registry.json");
  const registry = await registryAt(path);
  for (const name of ["a", "b", "c"]) await registry.register(registration(name));
  await expire(registry, "c");
  const again = await registryAt(path);
  expect(again.remotes).toEqual(registry.remotes);
  expect(again.down.map(({ name }) => name)).toEqual(["c"]);
  expect((await stat(path)).mode & 0o777).toBe(0o600);
});

test("a token of the greatest length is restored", async () => {
  await using directory = await scratch();
  const path = join(directory.path, "registry.json");
  const token = "x".repeat(4096);
  await (await registryAt(path)).register(registration("a", { token }));
  expect((await registryAt(path)).byName("a")?.token).toBe(token);
});

test("the file has no token, plain or in base64, and seals the same one differently each time", async () => {
  await using directory = await scratch();
  const path = join(directory.path, "registry.json");
  const registry = await registryAt(path);
  const { token } = await registry.register(registration("a"));
  const first = await readFile(path, "utf8");
  await registry.register(registration("a"));
  const second = await readFile(path, "utf8");
  expect(first).not.toContain(token);
  expect(first).not.toContain(Buffer.from(token).toString("base64").replaceAll("=", ""));
  expect(second).not.toBe(first);
});

test("with another secret the stored remotes are left out and can register again", async () => {
  await using directory = await scratch();
  const path = join(directory.path, "registry.json");
  await (await registryAt(path)).register(registration("a"));
  const other = await registryAt(path, new Seal(Secret.fromText("another secret")));
  expect(other.remotes).toEqual([]);
  await other.register(registration("a"));
  expect(other.unstored).toBe(0);
  expect((await registryAt(path)).remotes).toEqual([]);
});

test("an entry that was moved to another name or changed is left out", async () => {
  await using directory = await scratch();
  const path = join(directory.path, "registry.json");
  const registry = await registryAt(path);
  for (const name of ["a", "b", "c"]) await registry.register(registration(name));
  const stored = JSON.parse(await readFile(path, "utf8"));
  const { b, c } = stored.remotes;
  const remotes = { a: b, b, c: `${c.slice(0, -8)}AAAAAAAA`, d: "", e: "AAAA" };
  await writeFile(path, JSON.stringify({ ...stored, remotes }));
  expect((await registryAt(path)).remotes.map(({ name }) => name)).toEqual(["b"]);
});

test("a file of an earlier version has no remotes", async () => {
  await using directory = await scratch();
  const path = join(directory.path, "registry.json");
  await writeFile(path, JSON.stringify({ version: 1, remotes: [{ id: "a", name: "a" }], silent: [] }));
  expect((await registryAt(path)).remotes).toEqual([]);
});

test("a file in another format is an error that names the file", async () => {
  await using directory = await scratch();
  const path = join(directory.path, "registry.json");
  await writeFile(path, '{"version":2}');
  await expect(tableFile(path).load()).rejects.toThrow(`${path} is damaged`);
});

const FULL = new Error("disk full");

class Disk extends MemoryStore {
  isFull = false;

  override async save(texts: TableTexts): Promise<void> {
    await super.save(this.isFull ? this.texts : texts);
    if (this.isFull) throw FULL;
  }
}

async function setUp() {
  const disk = new Disk();
  const told: unknown[] = [];
  const tables = new TablesFile({
    file: disk,
    onSaveFailure: (error) => told.push(error),
    onSavedAgain: () => told.push("saved"),
  });
  const isAlive = async (): Promise<boolean> => false;
  const registry = await Registry.open({ tables, seal: SEAL, isAlive, now: () => new Date() });
  return { disk, tables, registry, told };
}

describe("a registration that a full disk did not take", () => {
  beforeEach(() => void vi.useFakeTimers());
  afterEach(() => void vi.useRealTimers());

  test("is kept in memory, saved with later changes once there is room, and logged once", async () => {
    const { disk, tables, registry, told } = await setUp();
    await using _ = tables;
    disk.isFull = true;
    await registry.register(registration("a"));
    await registry.register(registration("b"));
    await registry.remove("id-of-a");
    expect([tables.isConnected, registry.size, registry.unstored]).toEqual([false, 1, 1]);
    await vi.advanceTimersByTimeAsync(60_000);
    expect(told).toEqual([FULL]);
    disk.isFull = false;
    await vi.advanceTimersByTimeAsync(5_000);
    expect(disk.remotes.map(({ name }) => name)).toEqual(["b"]);
    expect([tables.isConnected, registry.unstored, told]).toEqual([true, 0, [FULL, "saved"]]);
    expect(vi.getTimerCount()).toBe(0);
  });

  test("is retried at most every half second and at least every five seconds", async () => {
    const { disk, tables, registry } = await setUp();
    await using _ = tables;
    disk.isFull = true;
    await registry.register(registration("a"));
    await vi.advanceTimersByTimeAsync(499);
    expect(disk.saves).toBe(1);
    await vi.advanceTimersByTimeAsync(60_000);
    expect(disk.saves).toBeGreaterThan(60 / 5);
    expect(disk.saves).toBeLessThan(60 / 5 + 6);
  });

  test("is not retried by the timer after another change was stored", async () => {
    const { disk, tables, registry, told } = await setUp();
    await using _ = tables;
    disk.isFull = true;
    await registry.register(registration("a"));
    disk.isFull = false;
    await registry.register(registration("b"));
    await vi.advanceTimersByTimeAsync(0);
    expect([disk.remotes.length, vi.getTimerCount(), told]).toEqual([2, 0, [FULL, "saved"]]);
  });

  test("is retried after a change that did not match its entry", async () => {
    const { disk, tables, registry } = await setUp();
    await using _ = tables;
    disk.isFull = true;
    await registry.register(registration("a"));
    const change = { table: "keys", id: "a", before: "1", after: "2" } as const;
    expect(await tables.commit([change])).toBe(false);
    disk.isFull = false;
    await vi.advanceTimersByTimeAsync(5_000);
    expect(disk.remotes.map(({ name }) => name)).toEqual(["a"]);
  });

  test("is the latest name of a remote: the former one is forgotten when there is room", async () => {
    const { disk, tables, registry } = await setUp();
    await using _ = tables;
    await registry.register(registration("a"));
    disk.isFull = true;
    await vi.advanceTimersByTimeAsync(1);
    await registry.register(registration("b", { id: "id-of-a" }));
    disk.isFull = false;
    await vi.advanceTimersByTimeAsync(5_000);
    expect(registry.remotes.map(({ name }) => name)).toEqual(["b"]);
    expect([disk.remotes.map(({ name }) => name), registry.unstored]).toEqual([["b"], 0]);
  });

  test("is not retried after the disposal", async () => {
    const { disk, tables, registry } = await setUp();
    disk.isFull = true;
    await registry.register(registration("a"));
    await tables[Symbol.asyncDispose]();
    expect(vi.getTimerCount()).toBe(0);
  });
});

test("a change of several entries is atomic", async () => {
  const tables = new TablesFile({ file: new MemoryStore() });
  const change = (id: string, before: string | undefined, after: string | undefined) => {
    return { table: "keys", id, before, after } as const;
  };
  expect(await tables.commit([change("a", undefined, "1"), change("b", undefined, "1")])).toBe(true);
  expect(await tables.commit([change("a", "1", "2"), change("b", "2", "3")])).toBe(false);
  expect(await tables.commit([change("a", "1", undefined), change("b", "1", "2")])).toBe(true);
  expect([...(await tables.all("keys"))]).toEqual([["b", "2"]]);
});
