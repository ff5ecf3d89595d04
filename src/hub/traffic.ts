/** What has gone through a hub since it was opened: plain numbers, for the way of each frame is short. */
export class Traffic {
  framesIn = 0;
  bytesIn = 0;
  framesOut = 0;
  bytesOut = 0;
  /** Frames that could not be read. */
  badFrames = 0;
  /** Screens that were sent in place of output. */
  resyncs = 0;
  /** Clients that were dropped: silent for too long, with too many answers unread, or speaking nonsense. */
  droppedSilent = 0;
  droppedUnread = 0;
  droppedBad = 0;
}
