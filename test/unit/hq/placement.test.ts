import { expect, test } from "vitest";
import { placed } from "../../../src/hq/placement.ts";
import { CreateSession } from "../../../src/protocol/schemas/session.ts";
import { MemoryFleet, settled } from "./memory-fleet.ts";
import { registration } from "./memory-store.ts";

const GPU = { gpu: "true" };

/** A fleet of machines with labels and a number of sessions each. */
async function fleetOf(
  remotes: Readonly<
    Record<string, { readonly labels?: object; readonly runs?: number; readonly cordoned?: true }>
  >,
): Promise<MemoryFleet> {
  const hq = await MemoryFleet.of();
  for (const [name, { labels, runs = 0, cordoned }] of Object.entries(remotes)) {
    const remote = hq.remote(registration(name).url);
    for (let number = 1; number <= runs; number += 1) remote.add(`${name}-${number}`);
    await hq.registry.register({ ...registration(name), labels: { ...labels }, cordoned });
  }
  await settled();
  return hq;
}

const create = async (hq: MemoryFleet, body: object): Promise<string | undefined> =>
  (await hq.fleet.create(CreateSession.parse({ command: "cat", ...body }))).source;
const refusal = (hq: MemoryFleet, body: object): Promise<unknown> =>
  create(hq, body).then(
    () => "success",
    ({ code, message }) => [code, message],
  );

test("a session that asks for labels runs on the machine with all of them and the fewest sessions", async () => {
  await using hq = await fleetOf({
    a: { labels: GPU, runs: 2 },
    b: { labels: { ...GPU, zone: "east" }, runs: 1 },
    c: { labels: { gpu: "false" } },
    d: {},
  });
  expect(await create(hq, { id: "one", labels: GPU })).toBe("b");
  expect(await create(hq, { id: "two", labels: { ...GPU, zone: "east" } })).toBe("b");
  expect(await create(hq, { id: "three", labels: GPU })).toBe("a");
});

test("concurrently created sessions are spread", async () => {
  await using hq = await fleetOf({ a: { labels: GPU }, b: { labels: GPU } });
  const sources = await Promise.all(["one", "two"].map((id) => create(hq, { id, labels: GPU })));
  expect(sources.toSorted()).toEqual(["a", "b"]);
});

test("a cordoned machine gets no sessions by labels, and one without a connection only if there is no other", async () => {
  await using hq = await fleetOf({ a: { labels: GPU, cordoned: true }, b: { labels: GPU, runs: 5 } });
  expect(await create(hq, { labels: GPU })).toBe("b");
  const candidate = (name: string, isConnected: boolean) => ({
    ...{ label: { id: name, name, labels: GPU }, records: new Map(), starting: Number(isConnected) },
    sessions: { isConnected },
  });
  expect(placed([candidate("away", false), candidate("here", true)], GPU).label.name).toBe("here");
  expect(placed([candidate("away", false)], GPU).label.name).toBe("away");
});

test("unknown labels are refused with the list of known ones", async () => {
  await using hq = await fleetOf({
    a: { labels: { gpu: "false", zone: "east" } },
    b: { labels: { zone: "west" } },
  });
  expect(await refusal(hq, { labels: { gpu: "true" } })).toEqual([
    "remote_not_found",
    "no machine has the labels gpu=true; there are gpu=false, zone=east, zone=west",
  ]);
  await using bare = await fleetOf({ a: {} });
  expect(await refusal(bare, { labels: GPU })).toEqual([
    "remote_not_found",
    "no machine has the labels gpu=true; no machine has labels",
  ]);
});

test("labels that only cordoned machines have are refused as cordoned", async () => {
  await using hq = await fleetOf({ a: { labels: GPU, cordoned: true }, b: {} });
  expect(await refusal(hq, { labels: GPU })).toEqual([
    "cordoned",
    "every machine with the labels gpu=true is cordoned: choose others",
  ]);
});

test("a session cannot ask for labels and name a machine", async () => {
  await using hq = await fleetOf({ a: { labels: GPU } });
  expect(await refusal(hq, { labels: GPU, remoteId: "id-of-a" })).toEqual([
    "invalid_request",
    "remoteId and labels are both set: set one of them",
  ]);
});
