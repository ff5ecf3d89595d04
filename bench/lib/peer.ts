// The interface of everything under peers/, and the only view that scenarios have of it.
import type { ViewerPlan } from "./viewer-plan.ts";
import type { Workshop } from "./workshop.ts";

/** A program to compare. */
export type Peer = ReaderPeer | ServerPeer;

type Named = {
  readonly name: string;
  readonly about: string;
  /** The reason why it cannot take part, in one line; undefined if it can. */
  missing(): Promise<string | undefined>;
};

/** A process that reads one pty and discards the bytes, with the protocol of programs/floor.c. */
export type ReaderPeer = Named & {
  readonly kind: "reader";
  command(workshop: Workshop): readonly string[];
};

/** A server that viewers connect to. */
export type ServerPeer = Named & {
  readonly kind: "server";
  /** Whether many viewers can watch one program; otherwise each viewer has a program of its own. */
  readonly sharesSessions: boolean;
  /** Whether a session survives without viewers, and a returning viewer resumes. */
  readonly keepsSessions: boolean;
  start(workshop: Workshop): Promise<Server>;
  /** For a peer that serves many machines at one address: starts it without any. */
  readonly headquarters?: () => Promise<Headquarters>;
};

/** An HQ that machines may join; disposal ends it. */
export type Headquarters = AsyncDisposable & {
  /** http://host:port. */
  readonly origin: string;
  readonly pids: readonly number[];
};

/** A running server; disposal ends it and all its processes. */
export type Server = AsyncDisposable & {
  /** The root processes of the server, whose CPU time and memory count together with those of their descendants. */
  readonly pids: readonly number[];
  /** Plans a session of the workshop's program; it starts with its first viewer. */
  session(words: readonly string[]): Session;
};

export type Session = {
  /** The plan of the creating viewer. If each viewer has a program of its own, the plan of every viewer. */
  first(): ViewerPlan;
  /**
   * A further viewer, after the first has seen the program's first line; output starts at byte `from` if the server
   * supports it.
   */
  next(from?: number): ViewerPlan;
};
