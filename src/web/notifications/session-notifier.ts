// Notifies of sessions that no window shows; notices of follow mode are shown to viewers as well. Only the last alert
// of a session counts. It is shown unless another window of this browser answers that it shows the session. The order
// in which the windows hear of an event does not matter.
import type { ServerEvent } from "../../protocol/frame/event.ts";
import type { GitNotification } from "../../protocol/schemas/follow.ts";
import type { SessionRecord } from "../../protocol/schemas/session.ts";
import type { NotificationKind } from "../preferences.ts";
import { type Alert, alertOf, kindOf } from "./alert.ts";

/** Other windows answer sooner. */
const ANSWER_MS = 500;
/** Between two notifications of a session. */
const PAUSE_MS = 10_000;
/** Between the windows of a browser: the ids of sessions, asked for by one window and repeated by those that show one. */
const QUESTIONS = "ttyhq.is-in-view";
const ANSWERS = "ttyhq.in-view";

export type SessionNotifierOptions = {
  readonly subscribe: (listener: (event: ServerEvent) => void) => Disposable;
  readonly record: (id: string) => SessionRecord | undefined;
  /** Whether the session is visible in this window. */
  readonly isInView: (id: string) => boolean;
  readonly kinds: () => readonly NotificationKind[];
  readonly show: (alert: Alert) => void;
  /** Shows follow mode's actions to viewers of the session. */
  readonly tell: (notification: GitNotification) => void;
  readonly pauseMs?: number;
};

/** `event`: the last one that was not shown. */
type Waiting = { timer: ReturnType<typeof setTimeout>; event: ServerEvent | undefined };

export class SessionNotifier implements Disposable {
  readonly #options: SessionNotifierOptions;
  readonly #scope = new DisposableStack();
  readonly #questions = new BroadcastChannel(QUESTIONS);
  readonly #answers = new BroadcastChannel(ANSWERS);
  /** By session; removed after a pause without alerts. */
  readonly #waiting = new Map<string, Waiting>();

  constructor(options: SessionNotifierOptions) {
    this.#options = options;
    this.#scope.defer(() => this.#questions.close());
    this.#scope.defer(() => this.#answers.close());
    this.#questions.onmessage = ({ data }: MessageEvent<unknown>) => {
      if (Array.isArray(data) && data.some((id) => options.isInView(id))) this.#answers.postMessage(data);
    };
    this.#answers.onmessage = ({ data }: MessageEvent<unknown>) => {
      if (Array.isArray(data)) for (const id of data) this.#forget(id);
    };
    this.#scope.use(options.subscribe((event) => this.#heard(event)));
    this.#scope.defer(() => {
      for (const { timer } of this.#waiting.values()) clearTimeout(timer);
    });
  }

  [Symbol.dispose](): void {
    this.#scope.dispose();
  }

  #heard(event: ServerEvent): void {
    const { isInView, kinds, tell } = this.#options;
    // One notification is enough for a repository with several sessions.
    const ids = event.sessionIds ?? [event.sessionId ?? ""];
    const seen = ids.find(isInView);
    if (seen !== undefined && event.notification !== undefined) tell(event.notification);
    const kind = kindOf(event);
    if (kind === undefined || !(kind === "any" ? kinds().length > 0 : kinds().includes(kind))) return;
    if (seen !== undefined || ids[0] === undefined) return;
    this.#wait(ids[0], event);
    this.#questions.postMessage(ids);
  }

  #wait(id: string, event: ServerEvent): void {
    const waiting = this.#waiting.get(id);
    if (waiting !== undefined) waiting.event = event;
    else this.#waiting.set(id, { event, timer: setTimeout(() => this.#tell(id), ANSWER_MS) });
  }

  #tell(id: string): void {
    const { record, isInView, show, pauseMs = PAUSE_MS } = this.#options;
    const event = isInView(id) ? undefined : this.#waiting.get(id)?.event;
    if (event === undefined) {
      this.#waiting.delete(id);
      return;
    }
    const known = event.record ?? record(id);
    if (known !== undefined || kindOf(event) === "any") show(alertOf(event, known));
    this.#waiting.set(id, { event: undefined, timer: setTimeout(() => this.#tell(id), pauseMs) });
  }

  /** Another window shows the session. */
  #forget(id: string): void {
    const waiting = this.#waiting.get(id);
    if (waiting !== undefined) waiting.event = undefined;
  }
}
