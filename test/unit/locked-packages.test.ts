import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";

test("no lock entry brings the package that downloads prebuilt binaries", () => {
  const lock = JSON.parse(
    readFileSync(fileURLToPath(new URL("../../package-lock.json", import.meta.url)), "utf8"),
  );
  const entries = Object.entries(lock.packages).filter(([path]) =>
    /node-pre-gyp$|prebuild-install$/.test(path),
  );
  expect(Object.fromEntries(entries)).toMatchObject({
    "native/node-pre-gyp": { bin: { "node-pre-gyp": "node-pre-gyp" } },
    "node_modules/@mapbox/node-pre-gyp": { resolved: "native/node-pre-gyp", link: true },
  });
  expect(entries).toHaveLength(2);
});
