import { expect, test } from "vitest";
import { GitAccounts } from "../../../src/git/git-accounts.ts";
import type { SystemAccount } from "../../../src/lib/system-account.ts";

const ANN: SystemAccount = { name: "ann", uid: 1000, gid: 1000, home: "/home/ann", shell: "/bin/sh" };

/** A name service, and a clock. */
class System {
  nowMs = 0;
  asked = 0;
  answer: () => SystemAccount | undefined = () => ANN;
  readonly accounts = new GitAccounts({
    find: async () => {
      this.asked++;
      return this.answer();
    },
    now: () => this.nowMs,
  });
}

test("a user is found out anew after a while, however often it is asked for meanwhile", async () => {
  const system = new System();
  for (system.nowMs = 0; system.nowMs < 60_000; system.nowMs += 10_000) await system.accounts.get("ann");
  expect(system.asked).toBe(1);
  system.answer = () => ({ ...ANN, uid: 1001 });
  expect((await system.accounts.get("ann")).uid).toBe(1001);
});

test("several who ask at once are answered by one look", async () => {
  const system = new System();
  await Promise.all([system.accounts.get("ann"), system.accounts.get("ann")]);
  expect(system.asked).toBe(1);
});

test("a user who was not there is looked for again at once, as is one who could not be looked up", async () => {
  const system = new System();
  system.answer = () => undefined;
  await expect(system.accounts.get("ann")).rejects.toMatchObject({ code: "forbidden" });
  system.answer = () => {
    throw new Error("no directory yet");
  };
  await expect(system.accounts.get("ann")).rejects.toThrow("no directory yet");
  system.answer = () => ANN;
  expect(await system.accounts.get("ann")).toEqual(ANN);
});
