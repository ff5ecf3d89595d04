// The ledger that several HQs share: kept in Redis (contract 6.8).
import { z } from "zod";
import { Emitter } from "../../lib/async/emitter.ts";
import { type Silence, Silences } from "../health/silences.ts";
import type { FollowedPart, RedisFollower } from "./redis-follower.ts";
import { RedisLease } from "./redis-lease.ts";
import { DROP, LEDGER_KEYS, PUT, READ, type RunScript, type Script } from "./redis-scripts.ts";
import { isUnchanged, type RegistryStore, type RegistryStoreChange, type Remote } from "./registry.ts";
import { SealedRemote, type TokenSeal } from "./token-seal.ts";

export type RedisRegistryStoreOptions = {
  /** Disposed of with the ledger. */
  readonly follower: RedisFollower;
  /** The same for all HQs of the registry. */
  readonly seal: TokenSeal;
  /** This HQ among them: another one after every start. */
  readonly replicaId: string;
  readonly now: () => Date;
};

const SilentFor = z.tuple([z.string(), z.int()]);
const Contents = z.tuple([z.string(), z.int(), z.array(z.string()), z.array(SilentFor)]);
const Holder = z.string().optional();

const { instance, revision, changes, remotes, names, silent } = LEDGER_KEYS;
const READ_KEYS = [instance, revision, remotes, silent];
const CHANGE_KEYS = [revision, changes, remotes, names, silent];

/** A remote as it stands in Redis, and what that means. */
type Known = { readonly text: string; readonly remote: Remote };

/** What this HQ does is believed here when it comes back as a change: so all HQs see the same in the same order. */
export class RedisRegistryStore implements RegistryStore, FollowedPart, AsyncDisposable {
  /** Which of the HQs may remove remotes. */
  readonly lease: RedisLease;
  readonly #options: RedisRegistryStoreOptions;
  readonly #changes = new Emitter<RegistryStoreChange>();
  readonly #silences: Silences;
  /** As many as there are remotes. */
  #known = new Map<string, Known>();
  #instanceId: string;

  constructor(options: RedisRegistryStoreOptions) {
    this.#options = options;
    this.#silences = new Silences(options.now);
    this.#instanceId = options.replicaId;
    this.lease = new RedisLease({ replicaId: options.replicaId, run: options.follower.run });
  }

  /** Who all HQs of this registry are to a remote. After `load`; another one when Redis has lost it, and got another. */
  get instanceId(): string {
    return this.#instanceId;
  }

  /** Whether it can be reached at this moment. */
  get isConnected(): boolean {
    return this.#options.follower.isConnected;
  }

  get silent(): readonly Silence[] {
    return this.#silences.recent;
  }

  /** Throws `start_failed`. */
  async load(): Promise<readonly Remote[]> {
    await this.#options.follower.add(this);
    return this.#remotes();
  }

  async put(remote: Remote, how: "new" | "restored"): Promise<Remote | undefined> {
    const { id, name, lastHeartbeat } = remote;
    const text = JSON.stringify(this.#options.seal.sealed(remote));
    const holder = await this.#change(PUT, [id, name, text, how === "restored" ? lastHeartbeat : ""]);
    if (holder === undefined) return undefined;
    const known = this.#parsed(holder);
    if (known === undefined) throw new Error(`nobody can tell who has the name ${name}`);
    return known.remote;
  }

  async drop(remote: Remote, when: "always" | "unchanged"): Promise<void> {
    const known = this.#known.get(remote.id);
    const isOther = when === "unchanged" && !isUnchanged(known?.remote, remote);
    if (isOther && this.isConnected) return;
    await this.#change(DROP, [remote.id, when === "unchanged" ? (known?.text ?? "") : ""]);
  }

  watch(listener: (change: RegistryStoreChange) => void): Disposable {
    return this.#changes.on(listener);
  }

  async read(run: RunScript): Promise<number> {
    const { seal } = this.#options;
    const own = `${this.#instanceId}.${seal.seal(this.#instanceId, this.#instanceId)}`;
    const [known, at, texts, silentFor] = Contents.parse(await run(READ, READ_KEYS, [own]));
    this.#instanceId = this.#proven(known);
    const all = texts.flatMap((text) => this.#parsed(text) ?? []);
    this.#known = new Map(all.map((each) => [each.remote.id, each]));
    for (const { remote } of all) this.#silences.end(remote.name);
    this.#silences.restore(silentFor.map((each) => this.#silence(each)));
    return at;
  }

  apply({ id, remote: text = "", silent: name = "" }: Readonly<Record<string, string>>): void {
    if (id === undefined) return;
    if (name !== "") this.#silences.begin(name);
    const known = text === "" ? undefined : this.#parsed(text);
    if (known === undefined) {
      this.#known.delete(id);
      this.#changes.emit({ kind: "dropped", id });
    } else {
      this.#known.set(id, known);
      this.#silences.end(known.remote.name);
      this.#changes.emit({ kind: "kept", remote: known.remote });
    }
  }

  back(): void {
    this.#changes.emit({ kind: "reread", remotes: this.#remotes() });
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.#options.follower.stop(() => this.lease.leave());
  }

  #remotes(): readonly Remote[] {
    return [...this.#known.values()].map(({ remote }) => remote);
  }

  #proven(known: string): string {
    const [id = "", proof = ""] = known.split(".");
    if (this.#options.seal.open(id, proof) === id) return id;
    throw new Error(
      "it was made with another secret: give all HQs the same --jwt-secret-file, or remove its keys ttyhq:* to begin anew",
    );
  }

  #silence([name, forSeconds]: z.infer<typeof SilentFor>): Silence {
    const since = new Date(this.#options.now().getTime() - forSeconds * 1000);
    return { name, since: since.toISOString() };
  }

  /** Undefined for what another version or another secret wrote: it is as if that remote were not there. */
  #parsed(text: string): Known | undefined {
    try {
      const remote = this.#options.seal.opened(SealedRemote.parse(JSON.parse(text)));
      return remote && { text, remote };
    } catch {
      return undefined;
    }
  }

  /** Returns the remote that was in its way, as it stands in Redis. */
  async #change(script: Script, values: readonly string[]): Promise<string | undefined> {
    const [holder] = await this.#options.follower.change(script, CHANGE_KEYS, values);
    return Holder.parse(holder);
  }
}
