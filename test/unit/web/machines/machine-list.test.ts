import { effect } from "@preact/signals";
import { expect, test } from "vitest";
import type { RemoteRecord } from "../../../../src/protocol/schemas/remote.ts";
import { MachineList } from "../../../../src/web/machines/machine-list.ts";
import { Events, remote, shown } from "../hq.ts";
import { until } from "../until.ts";

const HQ = { mode: "hq" } as const;

function machineList(events: Events, remotes: readonly RemoteRecord[], health = HQ): MachineList {
  const { subscribe } = events;
  return new MachineList({
    health: async () => health,
    remotes: async () => remotes,
    subscribe,
    ...shown,
  });
}

/** Every machine with a mark where it is not here. */
function names(machines: MachineList): string[] | undefined {
  return machines.all.value?.map(({ name, isHere }) => (isHere ? name : `${name} (gone)`));
}

test("a server that is no HQ has no machines, and is not asked for them", async () => {
  const refused = async (): Promise<never> => {
    throw new Error("asked");
  };
  using machines = new MachineList({
    health: async () => ({ mode: "standalone" }),
    remotes: refused,
    subscribe: new Events().subscribe,
    ...shown,
  });
  expect(machines.isKnown.value).toBe(false);
  await until(machines.isKnown, (isKnown) => isKnown);
  expect(machines.all.value).toBeUndefined();
});

test("without a way to find out nothing waits for it", async () => {
  const refused = async (): Promise<never> => {
    throw new Error("no connection");
  };
  const { subscribe } = new Events();
  using machines = new MachineList({ health: refused, remotes: refused, subscribe, ...shown });
  await until(machines.isKnown, (isKnown) => isKnown);
  expect(machines.all.value).toBeUndefined();
});

test("a failed request is repeated when the connection is back, without a delay", async () => {
  const events = new Events();
  let isBack = false;
  using machines = new MachineList({
    health: async () => {
      if (isBack) return HQ;
      throw new Error("no network");
    },
    remotes: async () => [remote("web")],
    subscribe: events.subscribe,
    ...shown,
    retryMs: 2 ** 31 - 1,
  });
  await until(machines.isKnown, (isKnown) => isKnown);
  await new Promise(setImmediate);
  isBack = true;
  events.tell({ type: "connected" });
  await until(machines.all, (all) => all?.length === 1);
});

test("the machines are listed by name, behind the HQ itself where it has sessions", async () => {
  const health = { mode: "hq", hqSessions: true } as const;
  const remotes = [{ ...remote("web"), cordoned: true }, remote("build", ["a", "b"])];
  using machines = machineList(new Events(), remotes, health);
  await until(machines.all, (all) => all !== undefined);
  expect(machines.all.value).toEqual([
    { name: "local", id: "local", url: undefined, isHere: true, isCordoned: false, hidden: 0 },
    {
      ...{ name: "build", id: "id-of-build", url: "http://build.example" },
      ...{ isHere: true, isCordoned: false, hidden: 2 },
    },
    {
      ...{ name: "web", id: "id-of-web", url: "http://web.example" },
      ...{ isHere: true, isCordoned: true, hidden: 0 },
    },
  ]);
});

test("a machine that leaves keeps its place as gone until it is back, perhaps with another id", async () => {
  const events = new Events();
  using machines = machineList(events, [remote("a"), remote("b"), remote("c")]);
  await until(machines.all, (all) => all !== undefined);
  events.tell({ type: "remote-left", remoteId: "id-of-b", remoteName: "b" });
  expect(names(machines)).toEqual(["a", "b (gone)", "c"]);
  expect([machines.isGone("a"), machines.isGone("b"), machines.isGone(undefined)]).toEqual([
    false,
    true,
    false,
  ]);
  events.tell({ type: "remote-joined", remoteId: "another", remoteName: "b" });
  expect(names(machines)).toEqual(["a", "b", "c"]);
  expect(machines.all.value?.[1]?.id).toBe("another");
});

test("a machine that left while nobody told is gone, one that was told of is read", async () => {
  const events = new Events();
  const remotes = [remote("a"), remote("b")];
  using machines = machineList(events, remotes);
  await until(machines.all, (all) => all !== undefined);
  remotes.splice(0, 2, remote("b"), remote("d"));
  events.tell({ type: "connected" });
  await until(machines.all, (all) => all?.length === 3);
  expect(names(machines)).toEqual(["a (gone)", "b", "d"]);
});

test("an answer from before a machine was back does not take it away again", async () => {
  const events = new Events();
  const asked = [Promise.withResolvers<void>(), Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const answer = Promise.withResolvers<readonly RemoteRecord[]>();
  let requests = 0;
  using machines = new MachineList({
    health: async () => HQ,
    remotes: async () => {
      asked[requests]?.resolve();
      requests += 1;
      return requests === 2 ? await answer.promise : [remote("web")];
    },
    subscribe: events.subscribe,
    ...shown,
  });
  await until(machines.all, (all) => all !== undefined);
  events.tell({ type: "remote-left", remoteId: "id-of-web", remoteName: "web" });
  await asked[1]?.promise;
  events.tell({ type: "remote-joined", remoteId: "id-of-web", remoteName: "web" });
  const wasGone: boolean[] = [];
  const stop = effect(() => void wasGone.push(machines.isGone("web")));
  answer.resolve([]);
  await asked[2]?.promise;
  stop();
  expect(wasGone).not.toContain(true);
});

test("a machine that is gone can be forgotten", async () => {
  const events = new Events();
  using machines = machineList(events, [remote("a"), remote("b")]);
  await until(machines.all, (all) => all !== undefined);
  events.tell({ type: "remote-left", remoteId: "id-of-b", remoteName: "b" });
  machines.forget("b");
  expect(names(machines)).toEqual(["a"]);
});
