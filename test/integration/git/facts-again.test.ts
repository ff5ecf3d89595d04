// A folder that is another one by now, at the same path: what is known is of the one that is there.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { cpSync, mkdirSync, renameSync, rmSync, symlinkSync } from "node:fs";
import { appendFile, mkdir } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { FactFolder } from "../../../src/git/facts/fact-folder.ts";
import type { FactParts } from "../../../src/git/facts/fact-parts.ts";
import { beginningPlaces } from "../../../src/git/facts/fact-places.ts";
import { FactReader } from "../../../src/git/facts/fact-reader.ts";
import { FactTree } from "../../../src/git/facts/fact-tree.ts";
import { FolderWatches } from "../../../src/git/facts/folder-watches.ts";
import { WatchQuota } from "../../../src/git/facts/watch-quota.ts";
import { type Repository, requireRepository } from "../../../src/git/repository.ts";
import { Emitter } from "../../../src/lib/async/emitter.ts";
import { Semaphore } from "../../../src/lib/async/semaphore.ts";
import { ServiceError } from "../../../src/protocol/errors.ts";
import { eventually } from "../harness/eventually.ts";
import { GitRoom } from "../harness/git-repository.ts";
import { clean, dirty, FactRoom, inside, on } from "./fact-room.ts";

const now = (): number => performance.now();
const quotaOf = (most: number): WatchQuota => new WatchQuota({ most, now, onExhausted: () => undefined });

function partsOf(room: GitRoom): FactParts {
  const full = (): ServiceError => new ServiceError("git_busy", "full");
  return {
    ...{ quota: quotaOf(100), now, log: { warn: () => undefined }, isOver: () => false },
    slots: new Semaphore({ slots: 2, maxWaiting: 10, maxWaitMs: 30_000, full }),
    git: (at) => room.program.at(at),
  };
}

/** A copy of a repository, on the branch `again`. Returns its path. */
async function copyOnAgain(room: GitRoom, repository: string): Promise<string> {
  const copy = room.at("copy");
  cpSync(repository, copy, { recursive: true });
  await room.git(copy, "switch", "--quiet", "-c", "again");
  return copy;
}

/** One folder by itself, and which repositories it was found in, each as it was found. */
class LoneFolder implements Disposable {
  readonly folder: FactFolder;
  readonly found: (Repository | undefined)[] = [];
  readonly #looks = new Emitter<void>();
  readonly #parts: FactParts;
  readonly #trees = new DisposableStack();

  constructor(room: GitRoom, cwd: string) {
    this.#parts = partsOf(room);
    const join = (_: FactFolder, repository: Repository | undefined) => this.#join(repository);
    this.folder = new FactFolder({ parts: this.#parts, cwd, join });
    this.folder.enter(new FactReader({ isLive: true, onChange: () => undefined, now }));
  }

  /** Resolves after that look: the first, the second, ... */
  async look(count: number): Promise<Repository | undefined> {
    while (this.found.length < count) {
      const { promise, resolve } = Promise.withResolvers<void>();
      using _listening = this.#looks.on(resolve);
      await promise;
    }
    return this.found[count - 1];
  }

  [Symbol.dispose](): void {
    this.folder[Symbol.dispose]();
    this.#trees.dispose();
  }

  #join(repository: Repository | undefined): FactTree | undefined {
    this.found.push(repository);
    this.#looks.emit();
    if (repository === undefined) return undefined;
    const options = { isLive: () => false, onChange: () => undefined, onGone: () => undefined };
    return this.#trees.use(new FactTree({ ...options, parts: this.#parts, repository }));
  }
}

test("a repository that is gone when looked at, and back before it is looked for, is known", async () => {
  await using place = await FactRoom.make();
  const repository = await place.room.repository();
  const away = place.room.at("away");
  // Nobody watches this folder for what is above it.
  using one = await inside(place, join(repository, "folder"));
  using _back = one.changed.on(() => {
    if (one.facts === undefined) renameSync(away, join(repository, ".git"));
  });
  renameSync(join(repository, ".git"), away);
  await one.until((facts) => facts === undefined, "no repository");
  await one.until(on("main"), "the repository");
});

test("what git calls a repository's tree, and is none when looked at, is not found over and over", async () => {
  await using place = await FactRoom.make();
  const { room } = place;
  const repository = await room.repository();
  await mkdir(room.at("elsewhere"));
  await room.git(repository, "config", "core.worktree", room.at("elsewhere"));
  using lone = new LoneFolder(room, repository);
  expect(await lone.look(1)).toMatchObject({ root: room.at("elsewhere") });
  lone.folder.treeGone();
  expect(await lone.look(2)).toBeUndefined();
});

test("a tree that is gone before its first look is told to be gone", async () => {
  await using place = await FactRoom.make();
  const { room } = place;
  const root = await room.repository();
  const repository = await requireRepository(room.program.at(root));
  rmSync(root, { recursive: true });
  const gone = Promise.withResolvers<void>();
  const options = { isLive: () => true, onChange: () => undefined, onGone: gone.resolve };
  using _tree = new FactTree({ ...options, parts: partsOf(room), repository });
  await gone.promise;
});

test("who comes to another folder of a tree where all had ended is told what is so by now", async () => {
  await using place = await FactRoom.make();
  const { room } = place;
  const repository = await room.repository();
  using ended = place.enter(repository, { isLive: false });
  await eventually(async () => ended.facts, "the facts of who has ended");
  await room.git(repository, "switch", "--quiet", "-c", "later");
  using other = place.enter(join(repository, "folder"));
  await other.until(on("later"), "the branch");
});

test("edits in a repository are seen though a program stands in the folder that was there before", async () => {
  await using place = await FactRoom.make();
  const { room } = place;
  const repository = await room.repository();
  const copy = await copyOnAgain(room, repository);
  // As long as somebody stands in a folder, the system tells nobody that it was deleted.
  const program = spawn("sleep", ["600"], { cwd: repository });
  await once(program, "spawn");
  try {
    using one = await inside(place, repository);
    rmSync(repository, { recursive: true });
    cpSync(copy, repository, { recursive: true });
    await one.until((facts) => on("again")(facts) && clean(facts), "the repository in its place");
    await appendFile(join(repository, "a.txt"), "more\n");
    await one.until(dirty, "an edit");
  } finally {
    program.kill();
  }
});

test("a repository that was put in the place of another by a rename is the one that is watched", async () => {
  await using place = await FactRoom.make();
  const { room } = place;
  const repository = await room.repository();
  const copy = await copyOnAgain(room, repository);
  using one = await inside(place, repository);
  renameSync(repository, room.at("old"));
  renameSync(copy, repository);
  await one.until(on("again"), "the repository in its place");
  await room.git(repository, "switch", "--quiet", "-c", "later");
  await one.until(on("later"), "a switch in it");
});

test("what is below a folder that was put in the place of another by a rename is watched", async () => {
  await using room = await GitRoom.make();
  const folders = ["top", "top/folder", "top/folder/below"].map((path) => room.at(path));
  const [, folder = "", below = ""] = folders;
  mkdirSync(below, { recursive: true });
  const swapped = Promise.withResolvers<void>();
  const told = Promise.withResolvers<void>();
  const matters = (name: string): boolean => {
    if (name === "new") told.resolve();
    return true;
  };
  const want = (): boolean => watches.want(() => folders.map((path) => ({ path, matters })));
  const onChange = (): void => {
    want();
    swapped.resolve();
  };
  using watches = new FolderWatches({ quota: quotaOf(10), onChange });
  want();
  cpSync(folder, room.at("copy"), { recursive: true });
  renameSync(folder, room.at("old"));
  renameSync(room.at("copy"), folder);
  await swapped.promise;
  mkdirSync(join(below, "new"));
  await told.promise;
});

test("what may not be looked at any more is not watched any more", async () => {
  await using room = await GitRoom.make();
  mkdirSync(room.at("top/folder"), { recursive: true });
  const quota = quotaOf(10);
  using watches = new FolderWatches({ quota, onChange: () => undefined });
  watches.want(() => ["top", "top/folder"].map((path) => ({ path: room.at(path), matters: () => true })));
  expect(quota.taken).toBe(2);
  // Even root may not follow a link that leads to itself.
  renameSync(room.at("top"), room.at("old"));
  symlinkSync("top", room.at("top"));
  watches.want(() => []);
  expect(quota.taken).toBe(0);
});

test("a folder that comes while its place begins to be watched is watched too", async () => {
  await using place = await FactRoom.make();
  const { room } = place;
  const folder = room.at("coming");
  const changes = new Emitter<void>();
  using watches = new FolderWatches({ quota: quotaOf(10), onChange: () => changes.emit() });
  watches.want(() => {
    const places = beginningPlaces(folder);
    mkdirSync(folder, { recursive: true });
    return places;
  });
  const { promise, resolve } = Promise.withResolvers<void>();
  using _listening = changes.on(resolve);
  await mkdir(join(folder, ".git"));
  await promise;
});

test("a folder that is moved away and back in a place where nobody cares for it is told of", async () => {
  await using place = await FactRoom.make();
  const { room } = place;
  const [above, below] = [room.at("above"), room.at("above/below")];
  await mkdir(below, { recursive: true });
  const { promise, resolve } = Promise.withResolvers<void>();
  using watches = new FolderWatches({ quota: quotaOf(10), onChange: resolve });
  watches.want(() => [
    { path: above, matters: () => false },
    { path: below, matters: () => true },
  ]);
  renameSync(below, room.at("away"));
  renameSync(room.at("away"), below);
  await promise;
});
