// The machines of an HQ, updated by its events. A server that is not an HQ has none, and the page shows none.
import { batch, computed, type ReadonlySignal, signal } from "@preact/signals";
import type { ServerEvent } from "../../protocol/frame/event.ts";
import type { Health } from "../../protocol/schemas/health.ts";
import { LOCAL, type RemoteRecord } from "../../protocol/schemas/remote.ts";
import { Refresher, type RefresherOptions } from "../refresher.ts";

/** A machine that runs sessions. */
export type Machine = {
  readonly name: string;
  /** The machine's name in requests for new sessions. */
  readonly id: string;
  /** Undefined for the HQ itself. */
  readonly url: string | undefined;
  /** False once it left while this page was open. */
  readonly isHere: boolean;
  /** Whether it is cordoned. */
  readonly isCordoned: boolean;
  /** The number of its unlisted sessions, whose ids conflict with those of another machine. */
  readonly hidden: number;
};

export type MachineListOptions = {
  readonly health: (signal: AbortSignal) => Promise<Pick<Health, "mode" | "hqSessions" | "cordoned">>;
  readonly remotes: (signal: AbortSignal) => Promise<readonly RemoteRecord[]>;
  readonly subscribe: (listener: (event: ServerEvent) => void) => Disposable;
} & Pick<RefresherOptions, "stage" | "intervalMs" | "retryMs">;

/** Machines that left and are remembered; the oldest is dropped first. */
const MAX_GONE = 50;

export class MachineList implements Disposable {
  readonly #options: MachineListOptions;
  readonly #here = signal<readonly Machine[] | undefined>(undefined);
  readonly #gone = signal<readonly Machine[]>([]);
  readonly #isKnown = signal(false);
  /** Whether the page has tried to find out if this is an HQ. */
  readonly isKnown: ReadonlySignal<boolean> = this.#isKnown;
  readonly #scope = new DisposableStack();
  readonly #refresher: Refresher;
  /** The events during the current reading, whose answer may be older; undefined between readings. */
  #meanwhile: ServerEvent[] | undefined;

  constructor(options: MachineListOptions) {
    this.#options = options;
    const { stage, intervalMs, retryMs } = options;
    const read = (signal: AbortSignal): Promise<void> => this.#read(signal);
    this.#refresher = this.#scope.use(new Refresher({ read, stage, intervalMs, retryMs }));
    this.#scope.use(options.subscribe((event) => this.#happened(event)));
    this.#refresher.refresh();
  }

  /** The HQ itself first, then by name, including those that left; undefined without an HQ. */
  readonly all: ReadonlySignal<readonly Machine[] | undefined> = computed(
    () => this.#here.value && [...this.#here.value, ...this.#gone.value].toSorted(byName),
  );

  /** Whether that machine left and did not return. */
  isGone(name: string | undefined): boolean {
    return this.#gone.value.some((machine) => machine.name === name);
  }

  /** Forgets a machine that left. */
  forget(name: string): void {
    this.#gone.value = this.#gone.peek().filter((machine) => machine.name !== name);
  }

  [Symbol.dispose](): void {
    this.#scope.dispose();
  }

  #happened(event: ServerEvent): void {
    const { type } = event;
    if (type !== "connected" && type !== "remote-joined" && type !== "remote-left") return;
    this.#meanwhile?.push(event);
    this.#show(event);
    if (type === "connected") this.#refresher.renewed();
    else this.#refresher.refresh();
  }

  /** The event's content is shown at once; the rest follows with the next reading. */
  #show({ type, remoteId, remoteName }: ServerEvent): void {
    const here = this.#here.peek();
    if (here !== undefined && type === "remote-left") {
      this.#replace(here.filter(({ name }) => name !== remoteName));
    }
    const back = this.#gone.peek().find(({ name }) => name === remoteName);
    if (here !== undefined && back !== undefined && type === "remote-joined") {
      this.#replace([...here, { ...back, id: remoteId ?? back.id, isHere: true }]);
    }
  }

  async #read(signal: AbortSignal): Promise<void> {
    const meanwhile: ServerEvent[] = [];
    this.#meanwhile = meanwhile;
    try {
      const { health, remotes } = this.#options;
      const { mode, hqSessions = false, cordoned: isCordoned = false } = await health(signal);
      if (mode !== "hq") {
        this.#here.value = undefined;
        return;
      }
      const read = (await remotes(signal)).map(machineOf);
      batch(() => {
        this.#replace([...(hqSessions ? [{ ...HQ, isCordoned }] : []), ...read]);
        for (const event of meanwhile) this.#show(event);
      });
    } finally {
      this.#meanwhile = undefined;
      this.#isKnown.value = true;
    }
  }

  #replace(here: readonly Machine[]): void {
    const names = new Set(here.map(({ name }) => name));
    const known = [...this.#gone.peek(), ...(this.#here.peek() ?? [])];
    const gone = known
      .filter(({ name }) => !names.has(name))
      .map((machine) => ({ ...machine, isHere: false }));
    this.#gone.value = gone.slice(-MAX_GONE);
    this.#here.value = here;
  }
}

const HQ = { name: LOCAL, id: LOCAL, url: undefined, isHere: true, hidden: 0 } as const;

function machineOf({ name, id, url, cordoned = false, conflicts = [] }: RemoteRecord): Machine {
  return { name, id, url, isHere: true, isCordoned: cordoned, hidden: conflicts.length };
}

function byName(one: Machine, other: Machine): number {
  return Number(other.id === LOCAL) - Number(one.id === LOCAL) || one.name.localeCompare(other.name);
}
