import { expect, test } from "vitest";
import { ownedRequest } from "../../../src/access/session-access.ts";
import { CreateSession } from "../../../src/protocol/schemas/session.ts";

const accountOf = (user: string): string => `account of ${user}`;
const request = CreateSession.parse({ command: "sh", owner: "root", account: "root" });

test("whoever asks gets a session of their own, whatever they say", () => {
  const ada = { method: "token", owner: "ada", account: "ada" } as const;
  expect(ownedRequest(request, ada, accountOf)).toMatchObject({ owner: "ada", account: "ada" });
});

test("the server's own user gets one of the server's own", () => {
  const made = ownedRequest(request, { method: "token" }, accountOf);
  expect(made.owner).toBeUndefined();
  expect(made.account).toBeUndefined();
});

test("an HQ says whose it is, and the remote as whom it runs", () => {
  expect(ownedRequest(request, { method: "hq" }, accountOf)).toMatchObject({
    owner: "root",
    account: "account of root",
  });
});

test("an HQ that asks for one of its users gets that one's", () => {
  const ada = { method: "hq", owner: "ada", account: undefined } as const;
  const made = ownedRequest(request, ada, accountOf);
  expect(made.owner).toBe("ada");
  expect(made.account).toBeUndefined();
});

test("through the private socket both are taken as they are", () => {
  expect(ownedRequest(request, { method: "socket" }, accountOf)).toBe(request);
});
