import { join } from "node:path";
import type { ReaderPeer } from "../lib/peer.ts";

export const nodePty: ReaderPeer = {
  kind: "reader",
  name: "node-pty",
  about: "node-pty, read as buffers and discarded",
  missing: async () => undefined,
  command: () => [process.execPath, join(import.meta.dirname, "node-pty-main.ts")],
};
