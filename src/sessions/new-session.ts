import { ownMark } from "./host-mark.ts";
import type { LaunchPlan } from "./launch.ts";
import { Session } from "./session.ts";

/** A session of which the program is about to start. */
export function newSession(
  { id, owner, plan }: { readonly id: string; readonly owner: string | undefined; readonly plan: LaunchPlan },
  options: Omit<ConstructorParameters<typeof Session>[0], "stored" | "sizes">,
): Session {
  const { name, command, cwd, size, env } = plan;
  const stored = {
    id,
    name,
    ...(owner === undefined ? {} : { owner }),
    command: [...command],
    cwd,
    created: new Date().toISOString(),
    pid: 0,
    host: ownMark(),
    ...size,
    shell: env.SHELL ?? "/bin/sh",
  };
  return new Session({ ...options, stored, sizes: [{ offset: 0, ...size }] });
}
