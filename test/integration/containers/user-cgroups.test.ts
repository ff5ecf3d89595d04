// One user's programs use up all their processes, in a container that may create control groups.
import { beforeAll, expect, test } from "vitest";
import { builtImage } from "./built-image.ts";
import { BUILD_TIMEOUT_MS } from "./docker.ts";
import { makeUsers, SystemContainer } from "./system-container.ts";

const MAX_PROCESSES = 400;
const OWN_GROUPS = [
  ...[
    "--cap-add",
    "SYS_ADMIN",
    "--security-opt",
    "seccomp=unconfined",
    "--security-opt",
    "apparmor=unconfined",
  ],
  ...["--cgroupns", "private", "--pids-limit", `${MAX_PROCESSES}`],
];
/** Of version 1, or of version 2. */
const MAKE_WRITABLE =
  "mount -o remount,bind,rw /sys/fs/cgroup/pids || mount -o remount,bind,rw /sys/fs/cgroup";
/** Continues after it could start no more. */
const FORK_BOMB = "(while :; do sleep 1000 & done) 2>/dev/null; echo no more; exec cat";

beforeAll(async () => {
  await builtImage();
}, BUILD_TIMEOUT_MS);

test("a fork bomb in one user's session leaves room for the sessions of others", async () => {
  await using container = await SystemContainer.start({
    prepare: `${makeUsers("alice", "bob")}\n${MAKE_WRITABLE}`,
    docker: OWN_GROUPS,
  });
  const alice = await container.as("alice");
  const bob = await container.as("bob");
  const { id } = await alice.create({ command: ["sh", "-c", FORK_BOMB] });
  await alice.shows(id, "no more");
  expect(await bob.output({ command: ["sh", "-c", "echo $(id -un) $(id -un)"] })).toBe("bob bob");
  const running = Number(await container.sh("pgrep --count --uid alice"));
  expect(running).toBeLessThanOrEqual(MAX_PROCESSES / 2);
  expect(running).toBeGreaterThan(MAX_PROCESSES / 4);
});
