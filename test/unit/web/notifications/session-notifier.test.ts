import { expect, onTestFinished, test, vi } from "vitest";
import { Emitter } from "../../../../src/lib/async/emitter.ts";
import type { ServerEvent } from "../../../../src/protocol/frame/event.ts";
import { SessionNotifier } from "../../../../src/web/notifications/session-notifier.ts";
import { Events, session } from "../hq.ts";

/** How long a window waits for the answers of others. */
const ANSWER_MS = 500;

type BrowserWindow = Disposable & { readonly events: Events; readonly alerts: string[] };

/** A window that shows these sessions. */
function windowWith(inView: readonly string[]): BrowserWindow {
  const [events, alerts]: [Events, string[]] = [new Events(), []];
  const notifier = new SessionNotifier({
    subscribe: events.subscribe,
    record: (id) => session(id),
    isInView: (id) => inView.includes(id),
    kinds: () => ["bell"],
    show: ({ sessionId = "" }) => void alerts.push(sessionId),
    tell: () => undefined,
  });
  return { events, alerts, [Symbol.dispose]: () => notifier[Symbol.dispose]() };
}

/** Messages between windows have arrived by then, also the answers to them. */
async function delivered(): Promise<void> {
  for (let turn = 0; turn < 5; turn += 1) await new Promise(setImmediate);
}

test.each(["before", "after", "without"])(
  "a window notifies of no session that another one shows, which hears of it %s",
  async (order) => {
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
    onTestFinished(() => void vi.useRealTimers());
    using showing = windowWith(["seen"]);
    using hidden = windowWith([]);
    const bell = (sessionId: string) => ({ type: "bell", sessionId }) as const;
    if (order === "before") showing.events.tell(bell("seen"));
    await delivered();
    hidden.events.tell(bell("seen"));
    if (order === "after") showing.events.tell(bell("seen"));
    hidden.events.tell(bell("unseen"));
    await delivered();
    vi.advanceTimersByTime(ANSWER_MS);
    expect([hidden.alerts, showing.alerts]).toEqual([["unseen"], []]);
  },
);

test("follow mode's notifications reach whoever looks at a session of the repository, and nothing else does", () => {
  const events = new Emitter<ServerEvent>();
  const told: string[] = [];
  using _notifier = new SessionNotifier({
    subscribe: (listener) => events.on(listener),
    record: () => undefined,
    isInView: (id) => id === "seen",
    kinds: () => [],
    show: () => undefined,
    tell: ({ title }) => told.push(title),
  });
  const timestamp = "2026-01-01T00:00:00Z";
  const git = (title: string, sessionIds: readonly string[]): void =>
    events.emit({
      ...{ type: "git-notification", timestamp, sessionIds: [...sessionIds] },
      notification: {
        ...{ type: "main-synced", level: "info", title, message: "", timestamp },
        ...{ repoPath: "/r", branch: "b" },
      },
    });
  git("of the session", ["other", "seen"]);
  git("of another repository", ["other"]);
  git("of no session", []);
  events.emit({ type: "bell", timestamp, sessionId: "seen" });
  expect(told).toEqual(["of the session"]);
});
