// The interface that everything under peers/ implements, and all that a scenario knows of what it measures.
import type { ViewerPlan } from "./viewer-plan.ts";
import type { Workshop } from "./workshop.ts";

/** Something whose speed is compared. */
export type Peer = ReaderPeer | ServerPeer;

type Named = {
  readonly name: string;
  readonly about: string;
  /** Why it cannot take part here, in one line; undefined when it can. */
  missing(): Promise<string | undefined>;
};

/** A process that reads one pty and throws the bytes away: what programs/floor.c does, by the same words. */
export type ReaderPeer = Named & {
  readonly kind: "reader";
  command(workshop: Workshop): readonly string[];
};

/** A server that viewers connect to. */
export type ServerPeer = Named & {
  readonly kind: "server";
  /** Whether many viewers can look at one program; else each viewer has one of its own. */
  readonly sharesSessions: boolean;
  /** Whether a session lives without viewers, and a viewer that comes back goes on where it was. */
  readonly keepsSessions: boolean;
  start(workshop: Workshop): Promise<Server>;
  /** For a peer that serves many machines at one address: starts it with none of them. */
  readonly headquarters?: () => Promise<Headquarters>;
};

/** An HQ that machines may join; disposing of it ends it. */
export type Headquarters = AsyncDisposable & {
  /** http://host:port. */
  readonly origin: string;
  readonly pids: readonly number[];
};

/** A server that runs; disposing of it ends it and every process that it started. */
export type Server = AsyncDisposable & {
  /** The processes whose CPU time and memory are the server's; those below them count too. */
  readonly pids: readonly number[];
  /** Plans a session of the workshop's program; nothing runs before its first viewer opens or creates it. */
  session(words: readonly string[]): Session;
};

export type Session = {
  /** The one who makes the session. Where each viewer has a program of its own, the plan of every viewer. */
  first(): ViewerPlan;
  /** One more, once the first has seen the program's first line; output from byte `from` on where the server can. */
  next(from?: number): ViewerPlan;
};
