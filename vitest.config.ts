import { env } from "node:process";
import { defineConfig } from "vitest/config";

/** These pause, cut off and kill what they run on, and measure how soon it is back: after the others. */
const CONTAINERS = ["test/integration/{cluster,containers,testing}/**/*.test.ts"];

/** On a cluster that is there: the last ones, so that they have the machine to themselves where it is the cluster as well. */
const KUBERNETES = ["test/integration/kubernetes/**/*.test.ts"];

const kubernetes = {
  test: {
    name: "kubernetes",
    include: KUBERNETES,
    // What nodes and pods take, and several of these: a wait that fails has a deadline of its own.
    testTimeout: 600_000,
    hookTimeout: 600_000,
    // A node that is lost takes everybody's pods along.
    maxWorkers: 1,
    sequence: { groupOrder: 3 },
  },
};

export default defineConfig({
  test: {
    projects: [
      {
        test: {
          name: "unit",
          include: ["test/unit/**/*.test.ts"],
          // Modules keep no state, so the files of a worker share them: each need not load them anew.
          isolate: false,
          // Longer than a wait has unless given another, which then says what did not come.
          testTimeout: 90_000,
          expect: { poll: { timeout: 60_000, interval: 10 } },
        },
      },
      {
        test: {
          name: "integration",
          include: ["test/integration/**/*.test.ts"],
          exclude: [...CONTAINERS, ...KUBERNETES],
          // Each wait in them has a deadline of its own, and says what did not come.
          testTimeout: 300_000,
          hookTimeout: 300_000,
          // What is looked for again and again comes when a busy machine lets it.
          expect: { poll: { timeout: 60_000, interval: 10 } },
          // More than there are cores: most of a test's time goes by in waiting for processes, networks and pages.
          maxWorkers: 3,
          sequence: { groupOrder: 1 },
        },
      },
      {
        test: {
          name: "containers",
          include: CONTAINERS,
          testTimeout: 300_000,
          hookTimeout: 300_000,
          maxWorkers: 2,
          sequence: { groupOrder: 2 },
        },
      },
      // `kubectl` finds a cluster without the variable as well: nobody's own is taken for a test by accident.
      ...(env.KUBECONFIG ? [kubernetes] : []),
    ],
  },
});
