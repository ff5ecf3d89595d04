import { spawnSync } from "node:child_process";
import { expect, test } from "vitest";
import { isDead, ownName } from "../../../packages/testing/src/owner.ts";

test("only a process of this machine that has ended is known to be dead", () => {
  const own = ownName();
  const place = own.slice(0, own.lastIndexOf(" "));
  const { pid } = spawnSync(process.execPath, ["--version"]);
  expect(isDead(own)).toBe(false);
  expect(isDead(`${place} ${pid}`)).toBe(true);
  expect(isDead(`another ${place} ${pid}`)).toBe(false);
  for (const nobody of ["", place, `${place} x`, `${place} 0`, `${place} -1`])
    expect(isDead(nobody)).toBe(false);
});
