import { expect, test } from "vitest";
import { Emitter } from "../../../../src/lib/async/emitter.ts";
import type { ServerEvent } from "../../../../src/protocol/frame/event.ts";
import { SessionNotifier } from "../../../../src/web/notifications/session-notifier.ts";

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
