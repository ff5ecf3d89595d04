import { expect, test } from "vitest";
import { Permissions } from "../../../../src/web/login/permissions.ts";

test("nothing is offered before the answer, and then what the server says", async () => {
  const answer = Promise.withResolvers<readonly string[]>();
  const permissions = new Permissions(() => answer.promise);
  expect([permissions.isKnown, permissions.has("sessions:view")]).toEqual([false, false]);
  const mayType = permissions.grants("sessions:control");
  answer.resolve(["sessions:view", "something:new"]);
  expect(await mayType).toBe(false);
  expect([permissions.isKnown, permissions.has("sessions:view")]).toEqual([true, true]);
});

test("a server that does not say has everything offered until it does, and a failure later changes nothing", async () => {
  const answers = [
    Promise.reject(new Error("no")),
    Promise.resolve(["sessions:view"]),
    Promise.reject(new Error("no")),
  ];
  const permissions = new Permissions(() => answers.shift() ?? expect.unreachable());
  expect(await permissions.grants("sessions:manage")).toBe(true);
  await permissions.refresh();
  expect(permissions.has("sessions:manage")).toBe(false);
  await permissions.refresh();
  expect([permissions.has("sessions:view"), permissions.has("sessions:manage")]).toEqual([true, false]);
});
