// Sessions that name labels instead of a machine.
import { expect, test } from "vitest";
import { ttyhq } from "../harness/command.ts";
import { ask } from "../harness/http.ts";
import { TestFleet } from "../harness/test-fleet.ts";
import { TestServer } from "../harness/test-server.ts";

test("a remote has labels from its options, and an HQ places sessions by them", async () => {
  await using fleet = await TestFleet.start({ remotes: 1 });
  await fleet.add("gpu-1", { args: ["--machine-label", "gpu=true", "--machine-label", "zone=east"] });
  await fleet.add("gpu-2", { env: { TTYHQ_MACHINE_LABEL: "gpu=true,zone=west" } });
  await fleet.joined("worker-1", "gpu-1", "gpu-2");
  expect(await fleet.record("gpu-1")).toMatchObject({ labels: { gpu: "true", zone: "east" } });
  expect(await fleet.record("worker-1")).not.toHaveProperty("labels");

  const run = (...words: readonly string[]) => ttyhq(["run", "--url", fleet.hq.url, "--detach", ...words]);
  const gpu = ["--machine-label", "gpu=true"] as const;
  for (const _ of ["first", "second"]) expect((await run(...gpu, "cat")).code).toBe(0);
  const sources = (await fleet.sessions()).map(({ source }) => source);
  expect(sources.toSorted()).toEqual(["gpu-1", "gpu-2"]);
  expect((await run(...gpu, "--machine-label", "zone=west", "cat")).code).toBe(0);
  expect((await fleet.sessions()).filter(({ source }) => source === "gpu-2")).toHaveLength(2);

  expect(await run("--machine-label", "gpu=false", "cat")).toEqual({
    code: 1,
    stdout: "",
    stderr: "ttyhq: no machine has the labels gpu=false; there are gpu=true, zone=east, zone=west\n",
  });
  await ttyhq(["cordon", "gpu-2", "--url", fleet.hq.url]);
  const { json } = await fleet.ask("/api/sessions", { body: { command: ["cat"], labels: { gpu: "true" } } });
  expect(json).toMatchObject({ source: "gpu-1" });
  const { stdout } = await ttyhq(["machines", "--url", fleet.hq.url]);
  expect(stdout).toMatch(/^gpu-1 +up +2 +gpu=true,zone=east /m);
});

test("a server that is no HQ refuses labels", async () => {
  await using server = await TestServer.start();
  const body = { command: ["cat"], labels: { gpu: "true" } };
  expect(await ask(server.url, "/api/sessions", { body })).toMatchObject({
    status: 400,
    json: { code: "invalid_request", error: expect.stringContaining("no") },
  });
});
