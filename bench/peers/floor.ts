import type { ReaderPeer } from "../lib/peer.ts";

export const floor: ReaderPeer = {
  kind: "reader",
  name: "floor",
  about: "a C program that reads the pty and discards",
  missing: async () => undefined,
  command: (workshop) => [workshop.floor],
};
