import * as fc from "fast-check";
import { expect, test } from "vitest";
import type { ServerEvent } from "../../../../src/protocol/frame/event.ts";
import { alertOf, plainText } from "../../../../src/web/notifications/alert.ts";
import { session } from "../hq.ts";

const SESSION = { ...session("a", "web-1"), name: "build" };

function bodyOf(event: Partial<ServerEvent> & Pick<ServerEvent, "type">): string {
  return alertOf({ timestamp: "2026-01-01T00:00:00Z", sessionId: "a", ...event }, SESSION).body;
}

test("an alert names session and machine and says what happened", () => {
  expect(alertOf({ type: "bell", timestamp: "", sessionId: "a" }, SESSION)).toEqual({
    ...{ sessionId: "a", title: "build on web-1", body: "The bell rang." },
  });
  const ended = { ...SESSION, status: "exited", exitCode: 3 } as const;
  expect(bodyOf({ type: "session-exit", record: ended })).toBe("Ended with code 3.");
  expect(bodyOf({ type: "command-finished", command: "make", duration: 61_200, exitCode: 2 })).toBe(
    "make ended with code 2 after 61 s.",
  );
  expect(bodyOf({ type: "waiting-for-input" })).toBe("It waits for input.");
  expect(bodyOf({ type: "program-notification", title: "", body: "your turn" })).toBe("your turn");
});

test("any text of a program becomes one short line without controls and marks of direction", () => {
  expect(plainText("a\u202eb\u2066c\u0000\n\u200bd\u009b31m", 80)).toBe("a b c d 31m");
  return fc.assert(
    fc.property(fc.string({ unit: "binary", maxLength: 400 }), (text) => {
      const body = bodyOf({ type: "program-notification", title: text, body: text });
      expect(body).not.toMatch(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/u);
      expect([...body].length).toBeLessThanOrEqual(200);
    }),
  );
});
