import { expect, test } from "vitest";
import type { ServerEvent } from "../../../src/protocol/frame/event.ts";
import { describeBackend } from "./conformance.ts";
import { ownTerminals } from "./own-terminals.ts";

describeBackend("the terminals of this process", () => ownTerminals());

test("a session with growing output updates its record from time to time", async () => {
  await using terminals = await ownTerminals({ outputNewsMs: 20 });
  const { promise: grown, resolve } = Promise.withResolvers<ServerEvent>();
  using _ = terminals.backend.watch((event) => {
    if (event.type === "session-changed" && event.record?.outputBytes === 5) resolve(event);
  });
  const { id, created } = await terminals.backend.create({
    command: ["sh", "-c", "printf hello; exec cat"],
    cols: 80,
    rows: 24,
  });
  const { record, sessionId } = await grown;
  expect(sessionId).toBe(id);
  expect(Date.parse(record?.lastModified ?? "")).toBeGreaterThanOrEqual(Date.parse(created));
});
