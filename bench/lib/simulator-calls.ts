// The benchmark's calls to a process with simulated remotes.

export type SimulatorCalls = {
  /** Creates listening remotes with sessions. */
  open(remotes: number, sessionsEach: number): Promise<void>;
  /** All join the HQ at once, as after its restart; resolves when each was accepted. */
  join(hq: string): Promise<void>;
  /** Sends that many events, spread evenly over all remotes and the time. */
  stir(events: number, durationMs: number): Promise<void>;
  /** From now on the first remote accepts connections and answers nothing. */
  hang(): Promise<void>;
};
