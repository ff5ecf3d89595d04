// The running versions in `ttyhq upgrade --check`. Mixed versions: previous-release.test.ts.
import { expect, test } from "vitest";
import { ttyhq } from "../harness/command.ts";
import { TestFleet } from "../harness/test-fleet.ts";

test("an HQ with remotes of this version works with all of them, and nothing has to be updated", async () => {
  await using fleet = await TestFleet.start({ remotes: 2 });
  const { code, stdout } = await ttyhq(["upgrade", "--check", "--url", fleet.hq.url]);
  expect(code).toBe(0);
  const names = ["remote worker-1", "remote worker-2", "HQ", "this command"];
  for (const name of names) expect(stdout).toMatch(new RegExp(`^${name} +\\d+\\.\\d+\\.\\d+ +works$`, "m"));
  expect(stdout).not.toContain("Update");
});

test("a server is shown with its session host, and nothing is updated without --check", async () => {
  await using fleet = await TestFleet.start({ remotes: 1 });
  const { controlDir } = fleet.remote("worker-1");
  const { code, stdout } = await ttyhq(["upgrade", "--check", "--json", "--control-dir", controlDir]);
  expect(code).toBe(0);
  const { parts, order } = JSON.parse(stdout);
  expect(parts.map(({ name, status }: { name: string; status: string }) => [name, status])).toEqual(
    ["server", "session host", "this command"].map((name) => [name, "current"]),
  );
  expect(order).toEqual([]);
  expect(await ttyhq(["upgrade", "--control-dir", controlDir])).toMatchObject({
    code: 1,
    stderr: expect.stringContaining("give --check"),
  });
});
