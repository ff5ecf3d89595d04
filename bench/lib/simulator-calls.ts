// What the benchmark asks of a process full of simulated remotes.

export type SimulatorCalls = {
  /** Makes so many remotes with so many sessions each; they listen. */
  open(remotes: number, sessionsEach: number): Promise<void>;
  /** All join the HQ at once, as after its restart; resolves when each was told that it is in. */
  join(hq: string): Promise<void>;
  /** So many events, one after the other over all remotes in turn, spread evenly over that time. */
  stir(events: number, durationMs: number): Promise<void>;
  /** The first remote takes connections and answers nothing from now on. */
  hang(): Promise<void>;
};
