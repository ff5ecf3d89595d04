/** Counters of a hub since its start; plain numbers, because they are on the hot path. */
export class Traffic {
  framesIn = 0;
  bytesIn = 0;
  framesOut = 0;
  bytesOut = 0;
  badFrames = 0;
  /** Screens that were sent instead of output. */
  resyncs = 0;
  /** Clients that were disconnected: for silence, unread answers, or undecodable frames. */
  droppedSilent = 0;
  droppedUnread = 0;
  droppedBad = 0;
}
