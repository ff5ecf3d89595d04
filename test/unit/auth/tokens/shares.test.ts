import { expect, test } from "vitest";
import { Shares } from "../../../../src/auth/tokens/shares.ts";
import { memoryRecords } from "../../../../src/lib/data/live-records.ts";
import { Secret } from "../../../../src/lib/secret.ts";
import { MAX_SESSION_ID_LENGTH, MAX_SESSION_KEY_LENGTH } from "../../../../src/protocol/limits.ts";

const NOW_S = 1_800_000_000;
const now = (): number => NOW_S * 1000;

/** The ids of the stored links that are valid, after each of these was stored as its name. */
async function kept(links: Readonly<Record<string, object>>): Promise<readonly string[]> {
  const records = memoryRecords(now);
  const shares = new Shares({
    secret: Secret.fromText("s"),
    records: { ...records, instanceId: "one" },
    now,
  });
  for (const [id, more] of Object.entries(links)) {
    const at = new Date(now()).toISOString();
    const own = { id, sessionId: "s", sessionKey: "k", mode: "view", createdBy: "me" };
    const value = { ...own, createdAt: at, expiresAt: at, ...more };
    await records.put({ id, kind: "share", expiresAtS: NOW_S + 60, value });
  }
  return shares.all.map(({ id }) => id);
}

test("a stored link is valid up to the maximum length of its session's id and key, and from any offset", async () => {
  const links = {
    "longest id": { sessionId: "x".repeat(MAX_SESSION_ID_LENGTH) },
    "longest key": { sessionKey: "x".repeat(MAX_SESSION_KEY_LENGTH) },
    "longest token": { apiTokenId: "x".repeat(128) },
    "from the first byte": { from: 0 },
  };
  expect(await kept(links)).toEqual(Object.keys(links));
});

test("a stored link with a field out of bounds opens nothing", async () => {
  const links = {
    "no id": { sessionId: "" },
    "long id": { sessionId: "x".repeat(MAX_SESSION_ID_LENGTH + 1) },
    "no key": { sessionKey: "" },
    "long key": { sessionKey: "x".repeat(MAX_SESSION_KEY_LENGTH + 1) },
    "no token": { apiTokenId: "" },
    "long token": { apiTokenId: "x".repeat(129) },
    "from before the first byte": { from: -1 },
    "from within a byte": { from: 0.5 },
  };
  expect(await kept(links)).toEqual([]);
});

test("a session has no links of another one with the same key", async () => {
  const records = { ...memoryRecords(now), instanceId: "one" };
  const shares = new Shares({ secret: Secret.fromText("s"), records, now });
  const link = { mode: "view", resize: false, from: undefined, lifetimeS: 60 } as const;
  const by = { user: "me", through: "login" } as const;
  const { id } = await shares.create({ id: "s", key: "k" }, { ...link, by });
  const other = { id: "other", key: "k" };
  expect(shares.of(other)).toEqual([]);
  const missing = { code: "share_not_found" };
  await expect(shares.update(other, id, { mode: "type" })).rejects.toMatchObject(missing);
  await expect(shares.revoke(other, id)).rejects.toMatchObject(missing);
  await shares.forget(other);
  expect(shares.of({ id: "s", key: "k" })).toMatchObject([{ id, mode: "view" }]);
});
