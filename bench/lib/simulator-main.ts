// The process of simulated remotes. Started by Simulator.
import { setTimeout as sleep } from "node:timers/promises";
import { answerCalls } from "./helper.ts";
import { SimulatedRemote } from "./simulated-remote.ts";
import type { SimulatorCalls } from "./simulator-calls.ts";

/** Events come in groups, because timers are no finer than this. */
const TICK_MS = 20;

const remotes: SimulatedRemote[] = [];

const calls: SimulatorCalls = {
  async open(count, sessionsEach) {
    for (let i = 0; i < count; i++) remotes.push(await SimulatedRemote.listen(`machine-${i}`, sessionsEach));
  },
  async join(hq) {
    await Promise.all(remotes.map((remote) => remote.join(hq)));
  },
  async stir(events, durationMs) {
    const began = performance.now();
    for (let done = 0; done < events; await sleep(TICK_MS)) {
      const due = Math.min(events, Math.ceil(((performance.now() - began) / durationMs) * events));
      for (; done < due; done++) remotes[done % remotes.length]?.sessions.stir();
    }
  },
  async hang() {
    remotes[0]?.hang();
  },
};

answerCalls(calls);
