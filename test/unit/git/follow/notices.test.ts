import { expect, test } from "vitest";
import { type Notice, Notices } from "../../../../src/git/follow/notices.ts";
import {
  GIT_NOTICE_LIFETIME_MS,
  MAX_GIT_NOTICE_READERS_OF_USER,
  MAX_GIT_NOTICES_OF_USER,
} from "../../../../src/git/git-limits.ts";

function notice(message: string, user = "alice"): Notice {
  const rest = { title: "Main Repository Synced", repoPath: "/r", timestamp: "2026-01-01T00:00:00.000Z" };
  return { user, notification: { type: "main-synced", level: "info", message, ...rest } };
}

const all = (): boolean => true;
const words = (
  notices: Notices,
  client: string,
  sees: (notice: Notice) => boolean = all,
  user = "alice",
): readonly string[] => notices.take({ user, client }, sees).map(({ message }) => message);

test("each client is told each notification once, in order", () => {
  const notices = new Notices({ now: () => 0 });
  notices.add(notice("one"));
  expect(words(notices, "a")).toEqual(["one"]);
  notices.add(notice("two"));
  expect(words(notices, "a")).toEqual(["two"]);
  expect(words(notices, "b")).toEqual(["one", "two"]);
  expect(words(notices, "a")).toEqual([]);
});

test("a client gets only notifications that it may see", () => {
  const notices = new Notices({ now: () => 0 });
  notices.add(notice("hers", "alice"));
  notices.add(notice("his", "bob"));
  expect(words(notices, "a", ({ user }) => user === "bob")).toEqual(["his"]);
});

test("the oldest notifications are dropped by number and by age", () => {
  let nowMs = 0;
  const notices = new Notices({ now: () => nowMs });
  for (let number = 0; number <= MAX_GIT_NOTICES_OF_USER; number += 1) notices.add(notice(`${number}`));
  expect(words(notices, "a")).toHaveLength(MAX_GIT_NOTICES_OF_USER);
  nowMs = GIT_NOTICE_LIFETIME_MS + 1;
  expect(words(notices, "b")).toEqual([]);
});

test("a user's many notifications and clients leave those of others as they are", () => {
  const notices = new Notices({ now: () => 0 });
  notices.add(notice("first", "bob"));
  expect(words(notices, "b", all, "bob")).toEqual(["first"]);
  notices.add(notice("second", "bob"));
  for (let number = 0; number <= MAX_GIT_NOTICES_OF_USER; number += 1) notices.add(notice(`${number}`));
  for (let number = 0; number <= MAX_GIT_NOTICE_READERS_OF_USER; number += 1) words(notices, `${number}`);
  expect(words(notices, "b", ({ user }) => user === "bob", "bob")).toEqual(["second"]);
});

test("a reader of several users' notifications gets them in order", () => {
  const notices = new Notices({ now: () => 0 });
  for (const [message, user] of [
    ["one", "bob"],
    ["two", "alice"],
    ["three", "bob"],
  ] as const)
    notices.add(notice(message, user));
  expect(words(notices, "a")).toEqual(["one", "two", "three"]);
});
