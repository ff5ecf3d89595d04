// Scripts that hold secrets in a folder of their own while they run, ended by Ctrl-C in the middle of it. dash, which is
// Debian's sh, does by itself nothing at the end by a signal.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdir, readdir } from "node:fs/promises";
import { expect, test } from "vitest";
import { withDeadline } from "../../src/lib/async/deadline.ts";
import { ScriptFolder } from "./script-folder.ts";

const DEADLINE_MS = 60_000;
/** Tells that it was called, and does not come back. */
const STALLS = "echo stalled; exec sleep 60";

const SCRIPTS = [
  {
    script: "k8s/make-secrets",
    needs: ["k8s/base/namespace.yaml"],
    commands: { kubectl: `case "$*" in *"create secret"*) ${STALLS} ;; esac` },
    held: "password",
  },
  {
    script: "docker/build.sh",
    needs: ["docker/Dockerfile", "package.json", "scripts/debian.sh"],
    commands: {
      docker: `[ "$1" != buildx ] || { ${STALLS}; }`,
      npm: 'echo "userconfig=$HOME/.npmrc"',
    },
    held: "npmrc",
  },
] as const;

test.each(SCRIPTS)(
  "Ctrl-C leaves nothing behind of the secrets that $script holds",
  async ({ script, needs, commands, held }) => {
    await using folder = await ScriptFolder.make(commands);
    await folder.copy(script, ...needs);
    await folder.write(".npmrc", "//packages.example.com/:_authToken=hush\n");
    const work = folder.at("work");
    await mkdir(work);
    const child = spawn(folder.at(script), {
      // A process group, as a terminal's foreground is one.
      ...{ detached: true, stdio: ["ignore", "pipe", "inherit"] },
      env: { ...folder.env, TMPDIR: work },
    });
    const ended = once(child, "exit");
    await withDeadline(stalled(child.stdout), DEADLINE_MS, "the command that stalls");
    expect(await readdir(work, { recursive: true })).toContainEqual(expect.stringMatching(`/${held}$`));
    process.kill(-(child.pid ?? 0), "SIGINT");
    expect(await withDeadline(ended, DEADLINE_MS, "the end of the script")).not.toEqual([0, null]);
    expect(await readdir(work)).toEqual([]);
  },
);

async function stalled(output: AsyncIterable<Buffer>): Promise<void> {
  for await (const bytes of output) if (bytes.includes("stalled")) return;
}
