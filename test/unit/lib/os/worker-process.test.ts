import { expect, test } from "vitest";
import { triedWithoutDescriptors } from "../../sessions/without-descriptors.ts";

test("a worker that cannot start for want of descriptors does not end this process, and starts at the next attempt", async () => {
  const { href } = new URL("../../../../src/lib/os/worker-process.ts", import.meta.url);
  const before = `
    import { WorkerProcess } from "${href}";
    const command = { file: "/bin/true", args: [], env: {} };
    const errors = { name: "worker", code: "git_failed" };
    const run = async () => {
      // A worker does not keep this process alive.
      const alive = setInterval(() => {}, 1_000);
      try {
        return (await new WorkerProcess(command, errors).ended).code;
      } catch ({ code }) {
        // The system's error is reported after that of the constructor.
        await new Promise(setImmediate);
        return code;
      } finally {
        clearInterval(alive);
      }
    };
  `;
  expect(await triedWithoutDescriptors(before, "run()")).toBe("launch_failed,git_failed");
});
