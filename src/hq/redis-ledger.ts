// The ledger that several HQs share: kept in Redis, followed by all of them in the same order (contract 6.8).
import { setTimeout as pause } from "node:timers/promises";
import { z } from "zod";
import { Backoff } from "../lib/backoff.ts";
import { withDeadline } from "../lib/deadline.ts";
import { Emitter } from "../lib/emitter.ts";
import { formatRedisAddress, type RedisAddress } from "../lib/redis-address.ts";
import { ServiceError } from "../protocol/errors.ts";
import { LEDGER_RETRY_MAX_MS, LEDGER_TIMEOUT_MS, RETRY_FIRST_MS } from "../protocol/limits.ts";
import { RedisLease } from "./redis-lease.ts";
import { RedisLink, type StreamEntry } from "./redis-link.ts";
import { DROP, LEDGER_KEYS, PUT, READ, REVISION, type RunScript, type Script } from "./redis-scripts.ts";
import { isUnchanged, type Ledger, type LedgerChange, type Remote } from "./registry.ts";
import { type Silence, Silences } from "./silences.ts";
import { SealedRemote, type TokenSeal } from "./token-seal.ts";

export type LedgerLog = {
  info(fields: object, message: string): void;
  warn(fields: object, message: string): void;
  error(fields: object, message: string): void;
};

export type RedisLedgerOptions = {
  readonly address: RedisAddress;
  /** Authorities that are trusted beside the public ones, PEM. */
  readonly ca: Uint8Array | undefined;
  /** The same for all HQs of the registry. */
  readonly seal: TokenSeal;
  /** This HQ among them: another one after every start. */
  readonly replicaId: string;
  readonly log: LedgerLog;
  /** 0 to 1, as Math.random. */
  readonly random: () => number;
  readonly now: () => Date;
};

const SilentFor = z.tuple([z.string(), z.int()]);
const Contents = z.tuple([z.string(), z.int(), z.array(z.string()), z.array(SilentFor)]);
const Changed = z.union([z.tuple([z.int()]), z.tuple([z.int(), z.string()])]);
const Revision = z.int();

const { instance, revision, changes, remotes, names, silent } = LEDGER_KEYS;
const READ_KEYS = [instance, revision, remotes, silent];
const CHANGE_KEYS = [revision, changes, remotes, names, silent];

/** It is not the Redis any more that it was. */
const FORGOTTEN = "it has forgotten what it knew";

/** A remote as it stands in Redis, and what that means. */
type Known = { readonly text: string; readonly remote: Remote };

/**
 * Each change has a revision, one more than the last, and what this HQ does is believed here when it comes back as a
 * change: so all HQs see the same in the same order. While Redis is out of reach `put` and `drop` reject at once, or
 * within LEDGER_TIMEOUT_MS when that is news; when it is back, or takes changes again that it refused, everything is read
 * anew.
 */
export class RedisLedger implements Ledger, AsyncDisposable {
  /** Which of the HQs may remove remotes. */
  readonly lease: RedisLease;
  readonly #options: RedisLedgerOptions;
  readonly #backoff: Backoff;
  readonly #stop = new AbortController();
  readonly #changes = new Emitter<LedgerChange>();
  readonly #progress = new Emitter<void>();
  readonly #silences: Silences;
  /** As many as there are remotes. */
  #known = new Map<string, Known>();
  #revision = 0;
  #instanceId: string;
  #link: RedisLink | undefined;
  #following: Promise<void> = Promise.resolve();

  constructor(options: RedisLedgerOptions) {
    this.#options = options;
    this.#backoff = new Backoff({
      ...{ firstMs: RETRY_FIRST_MS, maxMs: LEDGER_RETRY_MAX_MS, random: options.random },
    });
    this.#silences = new Silences(options.now);
    this.#instanceId = options.replicaId;
    this.lease = new RedisLease({ replicaId: options.replicaId, run: (...script) => this.run(...script) });
  }

  /** Who all HQs of this registry are to a remote. After `load`; another one when Redis has lost it, and got another. */
  get instanceId(): string {
    return this.#instanceId;
  }

  /** Whether it can be reached at this moment. */
  get isConnected(): boolean {
    return this.#link !== undefined;
  }

  get silent(): readonly Silence[] {
    return this.#silences.recent;
  }

  /** Throws `start_failed`. */
  async load(): Promise<readonly Remote[]> {
    try {
      const link = await this.#connect();
      this.#following = this.#follow(link);
      return this.#remotes();
    } catch (error) {
      const where = formatRedisAddress(this.#options.address);
      throw new ServiceError("start_failed", `cannot use the registry at ${where}: ${textOf(error)}`);
    }
  }

  async put(remote: Remote, how: "new" | "restored"): Promise<Remote | undefined> {
    const { id, name, lastHeartbeat } = remote;
    const text = JSON.stringify(this.#options.seal.sealed(remote));
    const holder = await this.#change(PUT, [id, name, text, how === "restored" ? lastHeartbeat : ""]);
    if (holder === undefined) return undefined;
    const known = this.#read(holder);
    if (known === undefined) throw new Error(`nobody can tell who has the name ${name}`);
    return known.remote;
  }

  async drop(remote: Remote, when: "always" | "unchanged"): Promise<void> {
    const known = this.#known.get(remote.id);
    const isOther = when === "unchanged" && !isUnchanged(known?.remote, remote);
    if (isOther && this.#link !== undefined) return;
    await this.#change(DROP, [remote.id, when === "unchanged" ? (known?.text ?? "") : ""]);
  }

  watch(listener: (change: LedgerChange) => void): Disposable {
    return this.#changes.on(listener);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#stop.abort();
    await this.lease.leave();
    this.#link?.[Symbol.dispose]();
    await this.#following;
  }

  #remotes(): readonly Remote[] {
    return [...this.#known.values()].map(({ remote }) => remote);
  }

  /** Until it is disposed of. */
  async #follow(first: RedisLink): Promise<void> {
    const { log, address } = this.#options;
    const registry = formatRedisAddress(address);
    for (let link: RedisLink | undefined = first; link !== undefined; link = await this.#reconnect()) {
      if (link !== first) {
        log.info({ registry }, "registry is back");
        this.#changes.emit({ kind: "reread", remotes: this.#remotes() });
      }
      const reason = await this.#readChanges(link);
      if (!this.#stop.signal.aborted) {
        log.warn({ registry, reason }, "registry is out of reach: going on with what is known");
      }
    }
  }

  /** Until the link fails. Returns why. */
  async #readChanges(link: RedisLink): Promise<string> {
    try {
      for (;;) {
        const entries = await link.readAfter(`${this.#revision}-0`, changes);
        this.#backoff.reset();
        for (const entry of entries) this.#apply(entry);
        if (entries.length === 0) await this.#look(link);
      }
    } catch (error) {
      return textOf(error);
    } finally {
      this.#link = undefined;
      link[Symbol.dispose]();
    }
  }

  /** Undefined when it is disposed of. */
  async #reconnect(): Promise<RedisLink | undefined> {
    const { signal } = this.#stop;
    while (!signal.aborted) {
      await pause(this.#backoff.next(), undefined, { signal }).catch(() => undefined);
      try {
        return await this.#connect();
      } catch {
        // That it is out of reach was said.
      }
    }
    return undefined;
  }

  /** Reads everything over a new link. */
  async #connect(): Promise<RedisLink> {
    const { address, ca, seal } = this.#options;
    const link = await RedisLink.open(address, ca, this.#stop.signal);
    try {
      const own = `${this.#instanceId}.${seal.seal(this.#instanceId, this.#instanceId)}`;
      const [known, at, texts, silentFor] = Contents.parse(await link.run(READ, READ_KEYS, [own]));
      this.#instanceId = this.#proven(known);
      const all = texts.flatMap((text) => this.#read(text) ?? []);
      this.#known = new Map(all.map((each) => [each.remote.id, each]));
      for (const { remote } of all) this.#silences.end(remote.name);
      this.#silences.restore(silentFor.map((each) => this.#silence(each)));
      this.#revision = at;
      // Of one that was disposed of meanwhile nobody would close it.
      this.#stop.signal.throwIfAborted();
      this.#link = link;
      this.#progress.emit();
      return link;
    } catch (error) {
      link[Symbol.dispose]();
      throw error;
    }
  }

  #proven(known: string): string {
    const [id = "", proof = ""] = known.split(".");
    if (this.#options.seal.open(id, proof) === id) return id;
    throw new Error(
      "it was made with another secret: give all HQs the same --jwt-secret-file, or remove its keys ttyhq:* to begin anew",
    );
  }

  /** Nothing came for a while: because nothing happened, one would think. */
  async #look(link: RedisLink): Promise<void> {
    const at = Revision.parse(await link.run(REVISION, [revision], []));
    if (at < this.#revision) throw new Error(FORGOTTEN);
  }

  #apply([entryId, fields]: StreamEntry): void {
    const at = Number.parseInt(entryId, 10);
    if (at !== this.#revision + 1) throw new Error("changes were missed");
    const { id = "", remote: text = "", silent: name = "" } = membersOf(fields);
    this.#revision = at;
    if (name !== "") this.#silences.begin(name);
    const known = text === "" ? undefined : this.#read(text);
    if (known === undefined) {
      this.#known.delete(id);
      this.#changes.emit({ kind: "dropped", id });
    } else {
      this.#known.set(id, known);
      this.#silences.end(known.remote.name);
      this.#changes.emit({ kind: "kept", remote: known.remote });
    }
    this.#progress.emit();
  }

  #silence([name, forSeconds]: z.infer<typeof SilentFor>): Silence {
    const since = new Date(this.#options.now().getTime() - forSeconds * 1000);
    return { name, since: since.toISOString() };
  }

  /** Undefined for what another version or another secret wrote: it is as if that remote were not there. */
  #read(text: string): Known | undefined {
    try {
      const remote = this.#options.seal.opened(SealedRemote.parse(JSON.parse(text)));
      return remote && { text, remote };
    } catch {
      return undefined;
    }
  }

  /** Rejects while Redis is out of reach. */
  readonly run: RunScript = (script, keys, values) =>
    this.#link?.run(script, keys, values) ?? Promise.reject(new Error("the registry is out of reach"));

  /** Waits until it has come back as a change. Returns the remote that was in its way, as it stands in Redis. */
  async #change(script: Script, values: readonly string[]): Promise<string | undefined> {
    const [link, before] = [this.#link, this.#revision];
    try {
      const [at, holder] = Changed.parse(await this.run(script, CHANGE_KEYS, values));
      if (at < before) throw new Error(FORGOTTEN);
      await this.#reached(at);
      return holder;
    } catch (error) {
      // That it is out of reach is said once, by whoever follows the changes.
      if (link !== undefined && !link.isClosed) {
        this.#options.log.error({ reason: textOf(error) }, "registry not kept");
      }
      // Whether or not it was done: what Redis refuses now it may take in a moment, and by then everything is read anew.
      link?.[Symbol.dispose]();
      throw error;
    }
  }

  /** That it is known here what has happened. */
  async #reached(at: number): Promise<void> {
    if (this.#revision >= at) return;
    const { promise, resolve } = Promise.withResolvers<void>();
    using _listening = this.#progress.on(() => {
      if (this.#revision >= at) resolve();
    });
    await withDeadline(promise, LEDGER_TIMEOUT_MS, "hearing of a change of our own");
  }
}

function membersOf(fields: readonly string[]): Readonly<Record<string, string>> {
  const pairs = fields.flatMap((name, index) => (index % 2 === 0 ? [[name, fields[index + 1] ?? ""]] : []));
  return Object.fromEntries(pairs);
}

function textOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
