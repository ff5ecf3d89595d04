import { defineConfig } from "vitest/config";

/** These pause, cut off and kill what they run on, and measure how soon it is back: after the others. */
const CONTAINERS = ["test/integration/{cluster,containers,testing}/**/*.test.ts"];

export default defineConfig({
  test: {
    projects: [
      { test: { name: "unit", include: ["test/unit/**/*.test.ts"], testTimeout: 20_000 } },
      {
        test: {
          name: "integration",
          include: ["test/integration/**/*.test.ts"],
          exclude: CONTAINERS,
          testTimeout: 120_000,
          hookTimeout: 60_000,
          // More than there are cores: most of a test's time goes by in waiting for processes, networks and pages.
          maxWorkers: 3,
          sequence: { groupOrder: 1 },
        },
      },
      {
        test: {
          name: "containers",
          include: CONTAINERS,
          testTimeout: 120_000,
          hookTimeout: 60_000,
          maxWorkers: 2,
          sequence: { groupOrder: 2 },
        },
      },
    ],
  },
});
