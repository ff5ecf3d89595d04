// Kinds of remotes of an HQ: ours, and those that implement only the specification (contract 10.5).
import { SpecRemote, type SpecRemoteOptions } from "../fixtures/spec-remote.ts";
import { basic, metric, type TestFleet } from "../harness/test-fleet.ts";

/** A remote in a fleet. */
type Joined = AsyncDisposable & {
  /** The number of clients of its /ws. */
  clients(): Promise<number>;
};

export type RemoteKind = {
  readonly what: string;
  readonly isOurs: boolean;
  /** Whether its /ws accepts input and resizes. */
  readonly takesInput: boolean;
  /** Whether it reports exit codes of sessions. */
  readonly tellsExitCode: boolean;
  /** Starts one and lets it join. */
  readonly join: (fleet: TestFleet, name: string) => Promise<Joined>;
};

const OURS: RemoteKind = {
  what: "of ours",
  ...{ isOurs: true, takesInput: true, tellsExitCode: true },
  join: async (fleet, name) => {
    const remote = await fleet.add(name);
    await fleet.joined(name);
    return {
      clients: () => metric(remote, "ttyhq_clients"),
      [Symbol.asyncDispose]: () => remote[Symbol.asyncDispose](),
    };
  },
};

function specified(what: string, options: SpecRemoteOptions): RemoteKind {
  const { takesInput = true, hasEvents = true } = options;
  return {
    what,
    ...{ isOurs: false, takesInput, tellsExitCode: hasEvents },
    join: async (fleet, name) => {
      const remote = await SpecRemote.open(options);
      const status = await remote.register(fleet.hq.url, name, basic());
      if (status !== 200) throw new Error(`registered with status ${status}`);
      return {
        clients: async () => remote.clients,
        [Symbol.asyncDispose]: () => remote[Symbol.asyncDispose](),
      };
    },
  };
}

/** For describe.each. */
export const REMOTE_KINDS: readonly RemoteKind[] = [
  OURS,
  specified("of the specification alone", {}),
  specified("of it, with VibeTunnel's names", { names: "vibetunnel" }),
  specified("of it, whose socket takes no input", { takesInput: false }),
  specified("of it, whose socket tells no events", { hasEvents: false }),
];
