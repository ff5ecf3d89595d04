import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";

const { packages } = JSON.parse(
  readFileSync(fileURLToPath(new URL("../../package-lock.json", import.meta.url)), "utf8"),
);

test("no lock entry brings a package that downloads prebuilt binaries", () => {
  const names = Object.keys(packages).filter((path) => /(node-pre-gyp|prebuild-install)$/.test(path));
  expect(names).toEqual([]);
});
