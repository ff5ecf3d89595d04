import { randomUUID } from "node:crypto";
import { Emitter } from "../../src/lib/async/emitter.ts";
import type { SourcePosition } from "../../src/protocol/directory/session-change.ts";
import { type ServerEvent, sessionEvent } from "../../src/protocol/frame/event.ts";
import type { SessionRecord } from "../../src/protocol/schemas/session.ts";

/** Of that many events one is the end of a session, and the next the start of another in its place. */
const EVENTS_A_TURNOVER = 10;
const OLDEST_MS = 24 * 3_600_000;
const WORDS = ["npm", "run", "test", "--", "--watch", "src/components/billing"];

/** The sessions of a machine without terminals: realistic records, in constant number. */
export class SimulatedSessions {
  readonly #records = new Map<string, SessionRecord>();
  readonly #events = new Emitter<ServerEvent>();
  readonly #epoch = randomUUID();
  #revision = 0;
  #stirred = 0;

  constructor(count: number) {
    for (let i = 0; i < count; i++) this.#add(new Date(Date.now() - Math.random() * OLDEST_MS));
  }

  get position(): SourcePosition {
    return { epoch: this.#epoch, revision: this.#revision };
  }

  get size(): number {
    return this.#records.size;
  }

  /** In no order. */
  list(): readonly SessionRecord[] {
    return [...this.#records.values()];
  }

  get(id: string): SessionRecord | undefined {
    return this.#records.get(id);
  }

  /** Like a backend's. */
  watch(listener: (event: ServerEvent) => void): Disposable {
    return this.#events.on(listener);
  }

  /** Simulates an event: a new title, and now and then a removed and a new session. */
  stir(): void {
    const turn = ++this.#stirred % EVENTS_A_TURNOVER;
    const [oldest] = this.#records.values();
    if (turn === 1) this.#tell("session-start", this.#add(new Date()));
    if (oldest === undefined || turn === 1) return;
    if (turn === 0) {
      this.#records.delete(oldest.id);
      this.#tell("session-removed", oldest);
      return;
    }
    const changed = {
      ...oldest,
      title: `build ${this.#stirred}: 3 of 7 packages`,
      lastModified: new Date().toISOString(),
      outputBytes: oldest.outputBytes + 4096,
    };
    this.#records.set(oldest.id, changed);
    this.#tell("session-changed", changed);
  }

  #add(started: Date): SessionRecord {
    const id = randomUUID();
    const created = started.toISOString();
    const cwd = "/home/build/projects/storefront/packages/checkout";
    const record: SessionRecord = {
      ...{
        id,
        key: id,
        sessionId: id,
        name: `checkout tests ${id.slice(0, 8)}`,
        title: "watching for file changes",
      },
      ...{ created, startedAt: created, lastModified: created, status: "running", pid: 4711 },
      ...{ command: WORDS, cwd, workingDir: cwd, cols: 120, rows: 40, outputBytes: 1_234_567, viewers: 0 },
    };
    this.#records.set(id, record);
    return record;
  }

  #tell(type: ServerEvent["type"], record: SessionRecord): void {
    this.#revision += 1;
    this.#events.emit({ ...sessionEvent(type, record), ...this.position });
  }
}
