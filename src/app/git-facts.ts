// What the sessions of this machine say about the repositories that they are in.
import type { Config } from "../config/config.ts";
import type { GitProgram } from "../git/git.ts";
import type { Log } from "../log.ts";
import type { SessionBackend } from "../sessions/backend.ts";
import type { SessionsWithFacts } from "../sessions/sessions-with-facts.ts";
import type { Surroundings } from "./surroundings.ts";

export type GitFactsPart = {
  /** The one git of this server; `undefined` on an HQ without sessions of its own. */
  readonly program: GitProgram | undefined;
  /** The sessions of this machine with what is known of their repositories; both end together. */
  readonly shown: (sessions: SessionBackend) => SessionBackend;
  /** To be called when it is known as which system user the sessions of a user run: no git runs before. */
  readonly begin: (accountOf: (user: string) => string | undefined) => void;
  /** Something has happened in the repository with that common directory. */
  readonly changed: (commonDir: string) => void;
};

export async function openGitFacts({
  config,
  surroundings,
  log,
}: {
  readonly config: Pick<Config, "role">;
  readonly surroundings: Pick<Surroundings, "env">;
  readonly log: Log;
}): Promise<GitFactsPart> {
  const { role } = config;
  // Its users have no business on its disk.
  if (role.kind === "hq" && !role.hasSessions) return NO_FACTS;
  // What only a server needs is not loaded into a session host.
  const [{ GitProgram }, { FolderFacts }, { SessionsWithFacts }] = await Promise.all([
    import("../git/git.ts"),
    import("../git/folder-facts.ts"),
    import("../sessions/sessions-with-facts.ts"),
  ]);
  const program = new GitProgram({ env: surroundings.env });
  const source = new FolderFacts({ program, log, now: () => performance.now() });
  let sessions: SessionsWithFacts | undefined;
  return {
    program,
    shown: (backend) => {
      sessions = new SessionsWithFacts({ backend, source });
      return sessions;
    },
    begin: (accountOf) => sessions?.begin((owner) => (owner === undefined ? undefined : accountOf(owner))),
    changed: (commonDir) => source.changed(commonDir),
  };
}

const NO_FACTS: GitFactsPart = {
  program: undefined,
  shown: (sessions) => sessions,
  begin: () => {},
  changed: () => {},
};
