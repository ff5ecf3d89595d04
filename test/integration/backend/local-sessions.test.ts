import { expect, test } from "vitest";
import type { ServerEvent } from "../../../src/protocol/frame/event.ts";
import { describeBackend } from "./conformance.ts";
import { ownTerminals } from "./own-terminals.ts";

describeBackend("the terminals of this process", () => ownTerminals());

test.each([
  ["output", "hello"],
  ["output that rings the bell", "hello\\a"],
])("a session with growing %s updates its record from time to time", async (_name, text) => {
  const bytes = text.replace("\\a", "\x07").length;
  await using terminals = await ownTerminals({ outputNewsMs: 20 });
  const { promise: grown, resolve } = Promise.withResolvers<ServerEvent>();
  using _ = terminals.backend.watch((event) => {
    if (event.type === "session-changed" && event.record?.outputBytes === bytes) resolve(event);
  });
  const { id, created } = await terminals.backend.create({
    command: ["sh", "-c", `printf '${text}'; exec cat`],
    cols: 80,
    rows: 24,
  });
  const { record, sessionId } = await grown;
  expect(sessionId).toBe(id);
  expect(Date.parse(record?.lastModified ?? "")).toBeGreaterThanOrEqual(Date.parse(created));
});
