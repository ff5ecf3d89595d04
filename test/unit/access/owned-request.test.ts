import { expect, test } from "vitest";
import { ownedRequest } from "../../../src/access/session-access.ts";
import { ALL, OWN } from "../../../src/auth/roles.ts";
import { CreateSession } from "../../../src/protocol/schemas/session.ts";

const accountOf = (user: string): string => `account of ${user}`;
const request = CreateSession.parse({ command: "sh", owner: "root", account: "root" });

test("a user's session belongs to that user, whatever the request says", () => {
  const ada = { rights: OWN, method: "token", owner: "ada", account: "ada" } as const;
  expect(ownedRequest(request, ada, accountOf)).toMatchObject({ owner: "ada", account: "ada" });
});

test("a session of the server's own user has no owner", () => {
  const made = ownedRequest(request, { rights: ALL, method: "token" }, accountOf);
  expect(made.owner).toBeUndefined();
  expect(made.account).toBeUndefined();
});

test("an HQ names the owner, and the remote chooses the account", () => {
  expect(ownedRequest(request, { rights: ALL, method: "hq" }, accountOf)).toMatchObject({
    owner: "root",
    account: "account of root",
  });
});

test("a request of an HQ on behalf of a user belongs to that user", () => {
  const ada = { rights: OWN, method: "hq", owner: "ada", account: undefined } as const;
  const made = ownedRequest(request, ada, accountOf);
  expect(made.owner).toBe("ada");
  expect(made.account).toBeUndefined();
});

test("the private socket's owner and account are used as sent", () => {
  expect(ownedRequest(request, { rights: ALL, method: "socket" }, accountOf)).toBe(request);
});
