import { chmod, mkdir, mkdtempDisposable, writeFile } from "node:fs/promises";
import { tmpdir, userInfo } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { Accounts } from "../../../../src/auth/accounts/accounts.ts";
import { readPublicKey } from "../../../../src/auth/ssh/public-key.ts";
import { userKeys } from "../../../../src/auth/ssh/user-keys.ts";
import { newKey } from "./key-pair.ts";

const { line } = newKey();
const key = readPublicKey(line) ?? { bytes: new Uint8Array() };
const address = "192.0.2.7";

async function homeWith(files: Readonly<Record<string, string>>) {
  const directory = await mkdtempDisposable(join(tmpdir(), "ttyhq-home-"));
  const path = (name: string) => join(directory.path, ".ssh", name);
  await mkdir(path("."), { mode: 0o700 });
  for (const [name, text] of Object.entries(files)) await writeFile(path(name), text, { mode: 0o600 });
  const logged: object[] = [];
  const accounts = new Accounts(() => performance.now());
  const keys = userKeys({
    users: { isOwn: (user) => ["me", "admin"].includes(user) },
    ...{ accounts, ownHome: directory.path, now: () => Date.UTC(2026) },
    log: { info: (fields: object) => void logged.push(fields) },
  });
  const end = async (): Promise<void> => {
    accounts[Symbol.dispose]();
    await directory.remove();
  };
  return { keys, path, logged, [Symbol.asyncDispose]: end };
}

test("the server's own user and the configured user have the keys of the server's home", async () => {
  await using home = await homeWith({ authorized_keys: line });
  expect(await home.keys("me", key, address)).toBe(true);
  expect(await home.keys("admin", key, address)).toBe(true);
  expect(home.logged).toEqual([]);
});

test("other users do not have them, with or without a system account", async () => {
  await using home = await homeWith({ authorized_keys: line });
  for (const user of [userInfo().username, "no-such-user", "me ", "", "0", "-x", "a\0b", "../me"]) {
    expect(await home.keys(user, key, address)).toBe(false);
  }
});

test("authorized_keys2 counts as well, and the first file with a verdict decides", async () => {
  await using second = await homeWith({ authorized_keys2: line });
  expect(await second.keys("me", key, address)).toBe(true);
  await using limited = await homeWith({ authorized_keys: `restrict ${line}`, authorized_keys2: line });
  expect(await limited.keys("me", key, address)).toBe(false);
  expect(limited.logged).toEqual([{ user: "me", reason: expect.stringMatching(/less than a terminal/) }]);
  await using elsewhere = await homeWith({ authorized_keys: `from="10.*" ${line}`, authorized_keys2: line });
  expect(await elsewhere.keys("me", key, address)).toBe(true);
});

test("a file that others can write does not count, and the log says why", async () => {
  await using home = await homeWith({ authorized_keys: line });
  await chmod(home.path("authorized_keys"), 0o666);
  expect(await home.keys("me", key, address)).toBe(false);
  expect(home.logged).toEqual([{ user: "me", reason: expect.stringMatching(/chmod go-w/) }]);
});

test("a key expires by the clock", async () => {
  await using home = await homeWith({ authorized_keys: `expiry-time="20260101Z" ${line}` });
  expect(await home.keys("me", key, address)).toBe(true);
  await using late = await homeWith({ authorized_keys: `expiry-time="20251231235959Z" ${line}` });
  expect(await late.keys("me", key, address)).toBe(false);
});
