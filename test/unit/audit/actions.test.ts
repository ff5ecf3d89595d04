import { expect, test } from "vitest";
import { actionOf } from "../../../src/audit/actions.ts";
import { endpoints } from "../../../src/protocol/endpoints/endpoints.ts";

/** What changes nothing that anybody would ask about later. */
const UNTOLD = [
  "createChallenge",
  "passkeyOptions",
  "createWsTicket",
  // To one's own clients alone.
  "testNotification",
  // What git itself has done.
  "gitEvent",
  "refreshSessions",
  "resizeSession",
  // No output: who watches.
  "listViewers",
  // Always refused.
  "resetSessionSize",
  // Counts, and what the list has as well.
  ...["sessionActivity", "sessionGitStatus"],
  // Told of as what is sent on.
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
