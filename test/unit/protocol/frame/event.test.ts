import { expect, test } from "vitest";
import { decodeEvent, exitEvent, resizeEvent } from "../../../../src/protocol/frame/event.ts";
import { decodeJson, encodeJson } from "../../../../src/protocol/frame/payload.ts";
import { MAX_EVENT_BYTES } from "../../../../src/protocol/limits.ts";

const timestamp = "2026-01-01T00:00:00.000Z";

test.each([
  exitEvent("a", 3, undefined),
  exitEvent("a", 137, "SIGKILL"),
  resizeEvent({ cols: 100, rows: 30 }),
  { kind: "title", title: "vim" },
  { kind: "marker", label: "here" },
])("%j is a session's own event", (event) => {
  expect(decodeEvent(encodeJson(event))).toEqual({ scope: "session", event });
});

test.each([
  { type: "connected", timestamp },
  { type: "session-exit", timestamp, sessionId: "a", sessionName: "sh", exitCode: 0 },
  { type: "git-notification", timestamp, title: "members of later versions stay" },
])("%j is the server's event", (event) => {
  expect(decodeEvent(encodeJson(event))).toEqual({ scope: "server", event });
});

test.each([
  { kind: "header", header: {} },
  resizeEvent({ cols: 2 ** 31, rows: 24 }),
  { type: "novelty", timestamp },
  { type: "bell" },
  [],
  7,
])("%j is ignored", (event) => {
  expect(decodeEvent(encodeJson(event))).toBeUndefined();
});

test("an event that is nested so deep that it could not be passed on is refused", () => {
  const deep = `${"[".repeat(100_000)}1${"]".repeat(100_000)}`;
  const payload = new TextEncoder().encode(`{"type":"bell","timestamp":"${timestamp}","more":${deep}}`);
  expect(() => encodeJson(decodeEvent(payload)?.event)).toThrow(
    expect.objectContaining({ code: "invalid_request" }),
  );
});

test.each(["sessionIds", "record"])("wrong elements in %s take little longer than their JSON", (member) => {
  const wrong = new Array(500_000).fill(0);
  const value = member === "record" ? { command: wrong } : wrong;
  const payload = encodeJson({ type: "session-changed", timestamp, [member]: value });
  const bestMs = (work: () => unknown): number => {
    const times = Array.from({ length: 3 }, () => {
      const began = performance.now();
      work();
      return performance.now() - began;
    });
    return Math.min(...times);
  };
  expect(decodeEvent(payload)).toBeUndefined();
  expect(bestMs(() => decodeEvent(payload))).toBeLessThan(5 * bestMs(() => decodeJson(payload)));
});

test("an event that is longer than any of ours is ignored", () => {
  const ofLength = (length: number) => encodeJson({ type: "bell", timestamp, more: "x".repeat(length) });
  expect(decodeEvent(ofLength(MAX_EVENT_BYTES / 2))).toBeDefined();
  expect(decodeEvent(ofLength(MAX_EVENT_BYTES))).toBeUndefined();
});
