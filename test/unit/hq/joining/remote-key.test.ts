import { mkdtempDisposable, stat } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { keptRemoteId } from "../../../../src/hq/joining/remote-key.ts";

const scratch = () => mkdtempDisposable(join(tmpdir(), "ttyhq-id-"));

test("a remote keeps its id across starts", async () => {
  await using directory = await scratch();
  const path = join(directory.path, "remote-id.json");
  const id = await keptRemoteId(path, "worker");
  expect(id).toMatch(/^[A-Za-z0-9_-]{1,64}$/);
  expect(await keptRemoteId(path, "worker")).toBe(id);
  expect((await stat(path)).mode & 0o777).toBe(0o600);
});

test("another name gives another id, and the former name does not restore the former id", async () => {
  await using directory = await scratch();
  const path = join(directory.path, "remote-id.json");
  const id = await keptRemoteId(path, "worker");
  const other = await keptRemoteId(path, "copy");
  expect(other).not.toBe(id);
  expect(await keptRemoteId(path, "copy")).toBe(other);
  expect(await keptRemoteId(path, "worker")).not.toBe(id);
});
