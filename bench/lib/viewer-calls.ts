// The benchmark's calls to a process of viewers, and their results.
import type { Expectation } from "./expected-output.ts";
import type { Sight } from "./viewer.ts";
import type { ViewerPlan } from "./viewer-plan.ts";

/** The milestones of a viewer. */
export type Until = "ready" | "whole" | "over";

export type ViewerCalls = {
  /** Creates a session without watching it. */
  create(plan: ViewerPlan): Promise<void>;
  /** Creates if planned, connects, subscribes; returns the number of the new viewer and its start. */
  open(plan: ViewerPlan, expectation: Expectation): Promise<{ viewer: number; beganUs: number }>;
  wait(viewer: number, until: Until): Promise<Sight>;
  sight(viewer: number): Promise<Sight>;
  /** Types one key for each; returns the time of the first. */
  press(viewers: readonly number[]): Promise<number>;
  echo(viewer: number, count: number, gapMs: number): Promise<number[]>;
  pause(viewer: number): Promise<void>;
  resume(viewer: number): Promise<number>;
  /** Bytes a second; undefined for no limit. */
  throttle(viewer: number, bytesPerSecond: number | undefined): Promise<number>;
  close(viewer: number): Promise<void>;
};
