import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";

const read = (path: string): string =>
  readFileSync(fileURLToPath(new URL(`../../${path}`, import.meta.url)), "utf8");

test("no lock entry brings the package that downloads prebuilt binaries", () => {
  const lock = JSON.parse(read("package-lock.json"));
  const entries = Object.entries(lock.packages).filter(([path]) =>
    /node-pre-gyp$|prebuild-install$/.test(path),
  );
  expect(entries).toEqual([
    [
      "node_modules/@mapbox/node-pre-gyp",
      expect.objectContaining({
        resolved: "file:native/node-pre-gyp",
        bin: { "node-pre-gyp": "node-pre-gyp" },
      }),
    ],
  ]);
});

test("what takes its place is copied, so that it is on the PATH when install scripts run", () => {
  expect(read(".npmrc").split("\n")).toContain("install-links=true");
});
