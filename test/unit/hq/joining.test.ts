// Join tokens and keys of remotes, as an HQ keeps them.
import { mkdtempDisposable, readFile, stat } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { Joining, type JoiningOptions } from "../../../src/hq/joining/joining.ts";
import {
  joinRequest,
  keptRemoteKey,
  type RemoteKey,
  remoteIdOf,
} from "../../../src/hq/joining/remote-key.ts";
import { TablesFile, type TableTexts, tableFile } from "../../../src/hq/registry/tables-file.ts";
import { Seal } from "../../../src/lib/seal.ts";
import { Secret } from "../../../src/lib/secret.ts";
import { ServiceError } from "../../../src/protocol/errors.ts";
import { CreateJoinToken } from "../../../src/protocol/schemas/join.ts";

const HQ = "instance-of-hq";
const START = Date.parse("2026-01-01T00:00:00Z");
const PRESHARED = "a secret that HQ and remotes share before they start";

class Stage implements AsyncDisposable {
  nowMs = START;
  readonly path: string;
  readonly #remove: () => Promise<void>;

  private constructor(path: string, remove: () => Promise<void>) {
    this.path = path;
    this.#remove = remove;
  }

  static async open(): Promise<Stage> {
    const directory = await mkdtempDisposable(join(tmpdir(), "ttyhq-joining-"));
    return new Stage(directory.path, directory.remove);
  }

  get file(): string {
    return join(this.path, "joining.json");
  }

  /** The HQ, started (again). */
  async hq(more: Partial<JoiningOptions> = {}): Promise<Joining> {
    const tables = new TablesFile({ file: tableFile(this.file) });
    await tables.load();
    return new Joining({
      tables,
      seal: new Seal(Secret.fromText("a secret of at least 32 bytes, as it were")),
      ...{ configured: undefined, hqId: () => HQ, now: () => this.nowMs },
      ...more,
    });
  }

  /** The stored tables. Each change waits for `disk`; the first one resolves `saving`. */
  async slowTables() {
    const saving = Promise.withResolvers<void>();
    const disk = Promise.withResolvers<void>();
    const file = tableFile(this.file);
    const save = async (texts: TableTexts): Promise<void> => {
      saving.resolve();
      await disk.promise;
      await file.save(texts);
    };
    const tables = new TablesFile({ file: { ...file, save } });
    await tables.load();
    return { tables, saving: saving.promise, disk };
  }

  async key(name: string, keyFile = name): Promise<RemoteKey> {
    const key = await keptRemoteKey(join(this.path, `${keyFile}.json`), { name, mayMake: true });
    if (key === undefined) throw new Error("no key");
    return key;
  }

  request(key: RemoteKey, more: { joinToken?: string; hqId?: string; timestamp?: number } = {}) {
    const { hqId = HQ, timestamp = this.nowMs, ...rest } = more;
    return { ...joinRequest(key, { hqId, timestamp }), ...rest };
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.#remove();
  }
}

const tokenFor = (name: string, more: object = {}) => CreateJoinToken.parse({ name, ...more });
const codeOf = (work: Promise<unknown>): Promise<unknown> =>
  work.then(
    () => "success",
    (error: unknown) => (error instanceof ServiceError ? error.code : error),
  );

test("a token enrolls one key, which needs no token from then on, also after a restart of the HQ", async () => {
  await using stage = await Stage.open();
  const hq = await stage.hq();
  const key = await stage.key("build-1");
  const { token: joinToken } = await hq.createToken(tokenFor("build-1"), "ada");
  const id = remoteIdOf(key.publicKey);
  expect(await hq.join(stage.request(key, { joinToken }))).toEqual({ id, name: "build-1", enrolled: true });
  stage.nowMs += 86_400_000;
  const restarted = await stage.hq();
  expect(await restarted.join(stage.request(key))).toEqual({ id, name: "build-1", enrolled: false });
  expect(await restarted.isKnown({ id, name: "build-1" })).toBe(true);
  expect(await restarted.isKnown({ id: "another", name: "build-1" })).toBe(false);
});

test("a token works once, also for two remotes at the same time", async () => {
  await using stage = await Stage.open();
  const hq = await stage.hq();
  const { token: joinToken } = await hq.createToken(tokenFor("build-1"), "ada");
  const [one, other] = [await stage.key("build-1"), await stage.key("build-1", "copy")];
  const outcomes = await Promise.all(
    [one, other].map((key) => codeOf(hq.join(stage.request(key, { joinToken })))),
  );
  expect(outcomes.toSorted()).toEqual(["join_refused", "success"]);
  expect(await codeOf(hq.join(stage.request(await stage.key("build-1", "third"), { joinToken })))).toBe(
    "join_refused",
  );
  expect(await hq.keys()).toHaveLength(1);
});

test("a token is valid for its name until it expires or is revoked", async () => {
  await using stage = await Stage.open();
  const hq = await stage.hq();
  const key = await stage.key("build-1");
  const { token: other } = await hq.createToken(tokenFor("build-2"), "ada");
  expect(await codeOf(hq.join(stage.request(key, { joinToken: other })))).toBe("join_refused");
  const { token: old } = await hq.createToken(tokenFor("build-1", { expiresIn: 60 }), "ada");
  stage.nowMs += 60_000;
  expect(await codeOf(hq.join(stage.request(key, { joinToken: old })))).toBe("join_refused");
  const revoked = await hq.createToken(tokenFor("build-1"), "ada");
  await hq.revokeToken(revoked.id);
  expect(await codeOf(hq.join(stage.request(key, { joinToken: revoked.token })))).toBe("join_refused");
  expect(await codeOf(hq.revokeToken(revoked.id))).toBe("join_token_not_found");
  expect((await hq.tokens()).map(({ name }) => name)).toEqual(["build-2"]);
  expect(await codeOf(hq.join(stage.request(key)))).toBe("join_refused");
});

test("a reusable token enrolls many remotes at the same time", async () => {
  await using stage = await Stage.open();
  const hq = await stage.hq();
  const { token: joinToken } = await hq.createToken(tokenFor("build-*", { reusable: true }), "ada");
  const names = Array.from({ length: 20 }, (_, index) => `build-${index}`);
  const keys = await Promise.all(names.map((name) => stage.key(name)));
  const joined = await Promise.all(keys.map((key) => codeOf(hq.join(stage.request(key, { joinToken })))));
  expect(new Set(joined)).toEqual(new Set(["success"]));
});

test("a reusable token that is revoked while a remote joins with it is valid no longer", async () => {
  await using stage = await Stage.open();
  const { id, token: joinToken } = await (await stage.hq()).createToken(
    tokenFor("build-*", { reusable: true }),
    "ada",
  );
  const { tables, saving, disk } = await stage.slowTables();
  const hq = await stage.hq({ tables });
  const [during, later] = [await stage.key("build-1"), await stage.key("build-2")];
  const joining = hq.join(stage.request(during, { joinToken }));
  await saving;
  const revoking = hq.revokeToken(id);
  disk.resolve();
  await Promise.all([joining, revoking]);
  expect(await codeOf(hq.join(stage.request(later, { joinToken })))).toBe("join_refused");
});

test("revoking the key of a name also ends one that takes its place at the same moment", async () => {
  await using stage = await Stage.open();
  const before = await stage.hq();
  const [key, next] = [await stage.key("build-1"), await stage.key("build-1", "next")];
  const { token: joinToken } = await before.createToken(tokenFor("build-1"), "ada");
  await before.join(stage.request(key, { joinToken }));
  const { token } = await before.createToken(tokenFor("build-1"), "ada");
  const { tables, saving, disk } = await stage.slowTables();
  const hq = await stage.hq({ tables });
  const joining = hq.join(stage.request(next, { joinToken: token }));
  await saving;
  const revoking = hq.revokeKey("build-1");
  disk.resolve();
  await Promise.all([joining, revoking]);
  expect(await hq.keys()).toEqual([]);
});

test("a token with a pattern enrolls any number of names, and replaces no key", async () => {
  await using stage = await Stage.open();
  const hq = await stage.hq();
  const { token: joinToken } = await hq.createToken(tokenFor("build-*", { reusable: true }), "ada");
  const join = async (name: string, keyFile = name): Promise<unknown> =>
    codeOf(hq.join(stage.request(await stage.key(name, keyFile), { joinToken })));
  expect([await join("build-1"), await join("build-2"), await join("web-1")]).toEqual([
    ...["success", "success", "join_refused"],
  ]);
  // What one remote knows does not make it another.
  expect(await join("build-2", "attacker")).toBe("remote_name_taken");
  await hq.revokeKey("build-2");
  expect(await join("build-2", "attacker")).toBe("success");
  expect(await codeOf(hq.revokeKey("nobody"))).toBe("remote_not_found");
});

test("a token for one name replaces its key, so that a remote without its disk joins again", async () => {
  await using stage = await Stage.open();
  const hq = await stage.hq();
  const lost = await stage.key("build-1", "lost");
  const { token: first } = await hq.createToken(tokenFor("build-1"), "ada");
  await hq.join(stage.request(lost, { joinToken: first }));
  const { token: second } = await hq.createToken(tokenFor("build-1"), "ada");
  const key = await stage.key("build-1", "new");
  expect(await hq.join(stage.request(key, { joinToken: second }))).toMatchObject({ enrolled: true });
  expect(await codeOf(hq.join(stage.request(lost)))).toBe("join_refused");
});

test("the configured token is reusable and listed, and cannot be revoked", async () => {
  await using stage = await Stage.open();
  const hq = await stage.hq({ configured: { secret: Secret.fromText(PRESHARED), name: "pod-*" } });
  for (const name of ["pod-0", "pod-1"]) {
    await hq.join(stage.request(await stage.key(name), { joinToken: PRESHARED }));
  }
  expect(await codeOf(hq.join(stage.request(await stage.key("box"), { joinToken: PRESHARED })))).toBe(
    "join_refused",
  );
  const [listed] = await hq.tokens();
  expect(listed).toMatchObject({ name: "pod-*", reusable: true });
  expect(listed).not.toHaveProperty("expiresAt");
  expect(await codeOf(hq.revokeToken(listed?.id ?? ""))).toBe("join_token_not_found");
});

test("a proof is valid only for its HQ, its name and its time", async () => {
  await using stage = await Stage.open();
  const hq = await stage.hq();
  const key = await stage.key("build-1");
  const { token: joinToken } = await hq.createToken(tokenFor("build-*", { reusable: true }), "ada");
  const refused = [
    stage.request(key, { joinToken, hqId: "another HQ" }),
    stage.request(key, { joinToken, timestamp: stage.nowMs - 301_000 }),
    stage.request(key, { joinToken, timestamp: stage.nowMs + 301_000 }),
    { ...stage.request(key, { joinToken }), name: "build-2" },
    { ...stage.request(key, { joinToken }), signature: "A".repeat(86) },
    { ...stage.request(key, { joinToken }), publicKey: (await stage.key("build-1", "copy")).publicKey },
  ];
  for (const request of refused) expect(await codeOf(hq.join(request))).toBe("join_refused");
  expect(await hq.keys()).toEqual([]);
});

test("the store contains no token, and write access to it does not admit a remote", async () => {
  await using stage = await Stage.open();
  const hq = await stage.hq();
  const { token } = await hq.createToken(tokenFor("build-1"), "ada");
  const text = await readFile(stage.file, "utf8");
  expect(text).not.toContain(token);
  expect((await stat(stage.file)).mode & 0o777).toBe(0o600);
  const others = new Seal(Secret.fromText("another secret of at least 32 bytes, too"));
  const forged = await stage.hq({ seal: others });
  const key = await stage.key("build-1");
  const { token: joinToken } = await forged.createToken(tokenFor("build-1"), "eve");
  expect(await codeOf((await stage.hq()).join(stage.request(key, { joinToken })))).toBe("join_refused");
});

test("a remote's key belongs to its name", async () => {
  await using stage = await Stage.open();
  const path = join(stage.path, "key.json");
  expect(await keptRemoteKey(path, { name: "a", mayMake: false })).toBeUndefined();
  const made = await keptRemoteKey(path, { name: "a", mayMake: true });
  expect((await stat(path)).mode & 0o777).toBe(0o600);
  expect((await keptRemoteKey(path, { name: "a", mayMake: false }))?.publicKey).toBe(made?.publicKey);
  expect(await keptRemoteKey(path, { name: "b", mayMake: false })).toBeUndefined();
  expect((await keptRemoteKey(path, { name: "b", mayMake: true }))?.publicKey).not.toBe(made?.publicKey);
});
