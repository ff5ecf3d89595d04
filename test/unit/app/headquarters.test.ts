import { expect, test } from "vitest";
import { checkHealth } from "../../../src/app/headquarters.ts";
import type { AuditEntry } from "../../../src/audit/entry.ts";
import { memoryRegistry, registration } from "../hq/memory-store.ts";

test("a remote that registers and stops answering without end has two lines a minute in the audit log, and others keep theirs", async () => {
  const lines: AuditEntry[] = [];
  const registry = await memoryRegistry();
  await using stack = new AsyncDisposableStack();
  const check = checkHealth(
    {
      ...{ registry, redis: undefined, isUp: async () => false, failureOf: () => undefined },
      ...{ fleet: { refreshUnwatched: async () => {} }, log: { warn: () => {} } },
      audit: { write: (entry) => void lines.push(entry) },
    },
    stack,
  );
  for (let count = 0; count < 20; count += 1) {
    await registry.register(registration("loud"));
    if (count === 10) await registry.register(registration("quiet"));
    await check.check();
  }
  await stack.disposeAsync();
  expect(lines.map(({ action, remote, details }) => [action, remote, details?.times])).toEqual([
    ["remote.expire", "loud", undefined],
    ["remote.expire", "quiet", undefined],
    ["remote.expire", "loud", 19],
  ]);
});
