// A fleet whose machines are sessions in memory, and fail as they are told to.
import { Fleet } from "../../../src/hq/fleet.ts";
import type { Registry, RegistryFile } from "../../../src/hq/registry/registry.ts";
import type { RemoteSessionBackend } from "../../../src/hq/remote-backend.ts";
import { ServiceError } from "../../../src/protocol/errors.ts";
import type { ServerEvent } from "../../../src/protocol/frame/event.ts";
import type {
  CreateSession,
  Removal,
  SessionRecord,
  SignalName,
  TerminalSize,
} from "../../../src/protocol/schemas/session.ts";
import type { UplinkTarget } from "../../../src/remote/uplink.ts";
import type { Content, SessionBackend, Sink, Subscription, View } from "../../../src/sessions/backend.ts";
import { type MemorySession, MemorySessions } from "../hub/memory-sessions.ts";
import { memoryRegistry, registration } from "./memory-store.ts";

/** One machine. What is asked of it waits for `gate`, which may reject; what it does is done before. */
export class MemoryMachine implements RemoteSessionBackend {
  readonly memory = new MemorySessions();
  readonly targets: UplinkTarget[] = [];
  readonly isConnected = true;
  /** Ids that it was asked about. */
  readonly questions: string[] = [];
  gate: Promise<void> = Promise.resolve();
  /** What it says of a session that it has made waits for this alone. */
  creation: Promise<void> = Promise.resolve();
  isDisposed = false;

  get sessions(): MemorySessions["sessions"] {
    return this.memory.sessions;
  }

  add(id: string): MemorySession {
    return this.memory.add(id);
  }

  announce(event: ServerEvent): void {
    this.memory.announce(event);
  }

  async send(): Promise<never> {
    throw new ServiceError("host_unreachable", "no requests in memory");
  }

  retarget(target: UplinkTarget): void {
    this.targets.push(target);
  }

  async list(): Promise<readonly SessionRecord[]> {
    const records = await this.memory.list();
    await this.gate;
    return records;
  }

  async get(id: string): Promise<SessionRecord> {
    this.questions.push(id);
    const record = await this.memory.get(id);
    await this.gate;
    return record;
  }

  async create(request: CreateSession): Promise<SessionRecord> {
    const record = await this.memory.create(request);
    await this.creation;
    return record;
  }

  rename(id: string): Promise<SessionRecord> {
    return this.memory.rename(id);
  }

  remove(id: string): Promise<Removal> {
    return this.memory.remove(id);
  }

  write(id: string, input: Uint8Array): Promise<void> {
    return this.memory.write(id, input);
  }

  resize(id: string, size: TerminalSize): Promise<void> {
    return this.memory.resize(id, size);
  }

  kill(id: string, signal: SignalName): Promise<void> {
    return this.memory.kill(id, signal);
  }

  mark(id: string): Promise<void> {
    return this.memory.mark(id);
  }

  view(id: string, view: View): Promise<Content> {
    return this.memory.view(id, view);
  }

  subscribe(id: string, sink: Sink): Promise<Subscription> {
    return this.memory.subscribe(id, sink);
  }

  watch(listener: (event: ServerEvent) => void): Disposable {
    return this.memory.watch(listener);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.isDisposed = true;
  }
}

export class MemoryFleet implements AsyncDisposable {
  readonly fleet: Fleet;
  readonly registry: Registry;
  readonly events: ServerEvent[] = [];
  readonly log: { readonly fields: object; readonly message: string }[] = [];
  readonly #machines = new Map<string, MemoryMachine>();

  private constructor(registry: Registry, local: SessionBackend | undefined) {
    this.registry = registry;
    const note = (fields: object, message: string): void => void this.log.push({ fields, message });
    this.fleet = new Fleet({
      ...{ registry, local, log: { info: note, warn: note } },
      targetOf: ({ url, token }) => ({ url, headers: { authorization: token } }),
      connect: (target) => this.machine("url" in target ? target.url : ""),
    });
    this.fleet.watch((event) => this.events.push(event));
  }

  static async of(
    options: {
      readonly local?: SessionBackend;
      readonly isAlive?: () => Promise<boolean>;
      readonly store?: RegistryFile;
      readonly now?: () => Date;
    } = {},
  ): Promise<MemoryFleet> {
    const { local, ...parts } = options;
    return new MemoryFleet(await memoryRegistry(parts), local);
  }

  /** The machine at an address, before it joins or after. */
  machine(url: string): MemoryMachine {
    const known = this.#machines.get(url) ?? new MemoryMachine();
    this.#machines.set(url, known);
    return known;
  }

  /** One more machine of that name, with these sessions. */
  async join(name: string, sessionIds: readonly string[] = []): Promise<MemoryMachine> {
    const machine = this.machine(registration(name).url);
    for (const id of sessionIds) machine.add(id);
    await this.registry.register(registration(name));
    await settled();
    return machine;
  }

  async ids(): Promise<readonly string[]> {
    return (await this.fleet.list()).map(({ id }) => id).toSorted();
  }

  /** The types of the events of a session, or of those of no session. */
  told(sessionId?: string): readonly string[] {
    return this.events.filter((event) => event.sessionId === sessionId).map(({ type }) => type);
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.fleet[Symbol.asyncDispose]();
  }
}

/** What was begun and waits for nothing is done. */
export function settled(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}
