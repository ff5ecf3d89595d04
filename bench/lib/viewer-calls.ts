// What the benchmark asks of a process full of viewers, and what comes back.
import type { Expectation } from "./expected-output.ts";
import type { Sight } from "./viewer.ts";
import type { ViewerPlan } from "./viewer-plan.ts";

/** Until what a viewer is waited for. */
export type Until = "ready" | "whole" | "over";

export type ViewerCalls = {
  /** Makes a session without looking at it. */
  create(plan: ViewerPlan): Promise<void>;
  /** Creates where the plan says so, connects, subscribes; the number of the new viewer and when it began. */
  open(plan: ViewerPlan, expectation: Expectation): Promise<{ viewer: number; beganUs: number }>;
  wait(viewer: number, until: Until): Promise<Sight>;
  sight(viewer: number): Promise<Sight>;
  /** Types one key for each; when the first was typed. */
  press(viewers: readonly number[]): Promise<number>;
  echo(viewer: number, count: number, gapMs: number): Promise<number[]>;
  pause(viewer: number): Promise<void>;
  resume(viewer: number): Promise<number>;
  /** Bytes a second; undefined for no limit. */
  throttle(viewer: number, bytesPerSecond: number | undefined): Promise<number>;
  close(viewer: number): Promise<void>;
};
