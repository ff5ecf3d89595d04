import type { LaunchPlan } from "./run-as/launch.ts";
import { Session } from "./session.ts";
import { ownMark } from "./storage/stored-session.ts";

export type NewSession = {
  readonly id: string;
  readonly key: string;
  readonly owner: string | undefined;
  /** The system user that it runs as, where that is not the host's own. */
  readonly account: string | undefined;
  readonly plan: LaunchPlan;
};

export function newSession(
  { id, key, owner, account, plan }: NewSession,
  options: Omit<ConstructorParameters<typeof Session>[0], "stored" | "sizes">,
): Session {
  const { name, command, cwd, size, env, isCwdFallback } = plan;
  const stored = {
    ...{ id, key, name },
    ...(owner === undefined ? {} : { owner }),
    ...(account === undefined ? {} : { account }),
    command: [...command],
    cwd,
    ...(isCwdFallback ? { cwdFallback: true as const } : {}),
    created: new Date().toISOString(),
    pid: 0,
    host: ownMark(),
    ...size,
    ...{ initialCols: size.cols, initialRows: size.rows },
    shell: env.SHELL ?? "/bin/sh",
  };
  return new Session({ ...options, stored, sizes: [{ offset: 0, ...size }] });
}
