// The process of viewers. Started by ViewerProcess.
import { nowUs } from "./clock.ts";
import { type Expectation, ExpectedOutput } from "./expected-output.ts";
import { answerCalls } from "./helper.ts";
import { createSession, Viewer } from "./viewer.ts";
import type { ViewerCalls } from "./viewer-calls.ts";

const viewers = new Map<number, Viewer>();
/** One for each expectation: viewers of one load share the data. */
const expected = new Map<string, ExpectedOutput>();
let last = 0;

const calls: ViewerCalls = {
  async create(plan) {
    if (plan.create !== undefined) await createSession(plan.port, plan.create);
  },
  async open(plan, expectation) {
    const beganUs = nowUs();
    await calls.create(plan);
    const viewer = new Viewer(plan, expectedOutput(expectation));
    viewers.set(++last, viewer);
    const number = last;
    await viewer.open();
    return { viewer: number, beganUs };
  },
  async wait(viewer, until) {
    const it = find(viewer);
    await it[until]();
    return it.sight;
  },
  async sight(viewer) {
    return find(viewer).sight;
  },
  async press(numbers) {
    const times = numbers.map((number) => find(number).press());
    return Math.min(...times);
  },
  async echo(viewer, count, gapMs) {
    return await find(viewer).echo(count, gapMs);
  },
  async pause(viewer) {
    find(viewer).pause();
  },
  async resume(viewer) {
    find(viewer).resume();
    return nowUs();
  },
  async throttle(viewer, bytesPerSecond) {
    find(viewer).throttle(bytesPerSecond);
    return nowUs();
  },
  async close(viewer) {
    find(viewer)[Symbol.dispose]();
    viewers.delete(viewer);
  },
};

function find(number: number): Viewer {
  const viewer = viewers.get(number);
  if (viewer === undefined) throw new Error(`no viewer ${number}`);
  return viewer;
}

function expectedOutput(expectation: Expectation): ExpectedOutput {
  const key = JSON.stringify(expectation);
  const output = expected.get(key) ?? new ExpectedOutput(expectation);
  expected.set(key, output);
  return output;
}

answerCalls(calls);
