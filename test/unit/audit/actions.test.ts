import { expect, test } from "vitest";
import { actionOf } from "../../../src/audit/actions.ts";
import { endpoints } from "../../../src/protocol/endpoints/endpoints.ts";

/** Endpoints that change nothing of interest to an auditor. */
const UNTOLD = [
  "createChallenge",
  "passkeyOptions",
  "createWsTicket",
  // Only to the user's own clients.
  "testNotification",
  // Reports an action of git.
  "gitEvent",
  "refreshSessions",
  "resizeSession",
  // Lists viewers, without output.
  "listViewers",
  // Always refused.
  "resetSessionSize",
  // Counts that other lists have as well.
  ...["sessionActivity", "sessionGitStatus"],
  // Recorded as the forwarded action.
  ...["proxyPost", "proxyPatch", "proxyDelete"],
];
const SHOWING = /^\/api\/sessions\/:id\/(?!shares)/;

test("every endpoint that changes something or shows output is audited", () => {
  const untold = Object.entries(endpoints)
    .filter(([, { method, path }]) => method !== "get" || SHOWING.test(path))
    .map(([name]) => name)
    .filter((name) => actionOf(name) === undefined);
  expect(untold.sort()).toEqual(UNTOLD.toSorted());
});

test("an unknown endpoint has no action", () => {
  for (const name of ["", "constructor", "__proto__", "toString", "health"])
    expect(actionOf(name)).toBeUndefined();
});
