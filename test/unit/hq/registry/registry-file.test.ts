import { mkdtempDisposable, readFile, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { registryFile } from "../../../../src/hq/registry/file-store.ts";
import { Secret } from "../../../../src/lib/secret.ts";
import { registration } from "../memory-store.ts";

const scratch = () => mkdtempDisposable(join(tmpdir(), "ttyhq-registry-"));
const SECRET = Secret.fromText("a secret of at least 32 bytes, as it were");
const times = { registeredAt: "2026-01-01T00:00:00.000Z", lastHeartbeat: "2026-01-02T00:00:00.000Z" };
const REMOTES = ["a", "b"].map((name) => ({ ...registration(name), ...times }));
const DOWN = [{ name: "c", since: "2026-01-02T00:00:00.000Z" }];
const CONTENTS = { remotes: REMOTES, down: DOWN };
const NOTHING = { remotes: [], down: [] };

test("remotes come back as they were, and who was silent", async () => {
  await using directory = await scratch();
  const path = join(directory.path, "registry.json");
  expect(await registryFile(path, SECRET).load()).toEqual(NOTHING);
  await registryFile(path, SECRET).save(CONTENTS);
  expect(await registryFile(path, SECRET).load()).toEqual(CONTENTS);
  expect((await stat(path)).mode & 0o777).toBe(0o600);
});

test("the longest token that may be registered comes back, too", async () => {
  await using directory = await scratch();
  const path = join(directory.path, "registry.json");
  const remotes = [{ ...registration("a", { token: "x".repeat(4096) }), ...times }];
  await registryFile(path, SECRET).save({ remotes, down: [] });
  expect(await registryFile(path, SECRET).load()).toEqual({ remotes, down: [] });
});

test("no token stands in the file, plain or in base64, and the same one looks different each time", async () => {
  await using directory = await scratch();
  const path = join(directory.path, "registry.json");
  const store = registryFile(path, SECRET);
  await store.save(CONTENTS);
  const first = await readFile(path, "utf8");
  await store.save(CONTENTS);
  const second = await readFile(path, "utf8");
  for (const { token } of REMOTES) {
    expect(first).not.toContain(token);
    expect(first).not.toContain(Buffer.from(token).toString("base64").replaceAll("=", ""));
  }
  expect(second).not.toBe(first);
  expect(first).toContain("http://a.test");
});

test("another secret opens no token: those remotes are left out", async () => {
  await using directory = await scratch();
  const path = join(directory.path, "registry.json");
  await registryFile(path, SECRET).save(CONTENTS);
  expect(await registryFile(path, Secret.fromText("another secret")).load()).toMatchObject({ remotes: [] });
});

test("a token that was moved to another remote, or changed, is left out", async () => {
  await using directory = await scratch();
  const path = join(directory.path, "registry.json");
  await registryFile(path, SECRET).save(CONTENTS);
  const stored = JSON.parse(await readFile(path, "utf8"));
  const [a, b] = stored.remotes;
  const swapped = [
    { ...a, token: b.token },
    { ...b, token: "" },
    { ...b, id: "short", token: "AAAA" },
  ];
  await writeFile(path, JSON.stringify({ ...stored, remotes: [...swapped, b] }));
  const { remotes } = await registryFile(path, SECRET).load();
  expect(remotes.map(({ name }) => name)).toEqual(["b"]);
});

test("a file that says nothing of who was silent is read as before", async () => {
  await using directory = await scratch();
  const path = join(directory.path, "registry.json");
  await registryFile(path, SECRET).save(CONTENTS);
  const { silent: _, ...older } = JSON.parse(await readFile(path, "utf8"));
  await writeFile(path, JSON.stringify(older));
  expect(await registryFile(path, SECRET).load()).toEqual({ remotes: REMOTES, down: [] });
});

test("a file that is none of ours is an error that names it", async () => {
  await using directory = await scratch();
  const path = join(directory.path, "registry.json");
  await writeFile(path, '{"version":2}');
  await expect(registryFile(path, SECRET).load()).rejects.toThrow(`${path} is damaged`);
});
