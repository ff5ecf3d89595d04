import { defineConfig } from "vitest/config";

export default defineConfig({
  test: {
    include: ["test/**/*.test.ts"],
    // Longer than the waits of the kit, which say what did not come.
    testTimeout: 120_000,
    hookTimeout: 120_000,
    reporters: ["default", "junit"],
    outputFile: { junit: "junit.xml" },
  },
});
