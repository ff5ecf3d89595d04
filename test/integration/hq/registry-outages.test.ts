// Each way in which two HQs can lose their Redis: they keep using what they know, refuse writes, and recover by
// themselves.
import { mkdtempDisposable, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { eventually } from "../../../packages/testing/src/wait.ts";
import { type Answer, ask } from "../harness/http.ts";
import { PASSWORD, TOKEN_SECRET, USERNAME } from "../harness/password-server.ts";
import { Person } from "../harness/people.ts";
import { RedisSentinels } from "../harness/redis-sentinels.ts";
import { BACK, OUT_OF_REACH } from "../harness/replica.ts";
import { NO_LIMITS, TestServer } from "../harness/test-server.ts";

const LOGIN = { TTYHQ_USERNAME: USERNAME, TTYHQ_PASSWORD: PASSWORD, TTYHQ_JWT_SECRET: TOKEN_SECRET };
const UNAVAILABLE = { status: 503, json: { code: "registry_unavailable" } };

/** Two HQs and a remote with a session. */
class Group implements AsyncDisposable {
  readonly hqs: readonly TestServer[];
  readonly #owned: AsyncDisposable;

  private constructor(hqs: readonly TestServer[], owned: AsyncDisposable) {
    this.hqs = hqs;
    this.#owned = owned;
  }

  static async start(redisUrl: string): Promise<Group> {
    await using stack = new AsyncDisposableStack();
    const folder = stack.use(await mkdtempDisposable(join(tmpdir(), "ttyhq-outage-")));
    const file = join(folder.path, "registry-url");
    await writeFile(file, redisUrl);
    const args = ["--hq", "--registry-url-file", file, ...NO_LIMITS];
    const start = async (): Promise<TestServer> => stack.use(await TestServer.start({ args, env: LOGIN }));
    const hqs = [await start(), await start()];
    const to = ["--hq-url", hqs[0]?.url ?? "", "--allow-insecure-hq", "--name", "worker", ...NO_LIMITS];
    const env = {
      ...{ SERVICE_USERNAME: "keeper", SERVICE_PASSWORD: "of the lighthouse" },
      ...{ TTYHQ_HQ_USERNAME: USERNAME, TTYHQ_HQ_PASSWORD: PASSWORD },
    };
    stack.use(await TestServer.start({ args: to, env }));
    return new Group(hqs, stack.move());
  }

  /** A token that both know. */
  async logIn(): Promise<string> {
    const [first] = this.hqs;
    const { json } = await ask(first?.url ?? "", "/api/auth/token", { body: { password: PASSWORD } });
    for (const { status } of await this.each(json.token, "/api/sessions")) expect(status).toBe(200);
    return json.token;
  }

  /** The same request to each HQ. */
  each(token: string, path: string, question: { readonly method?: string; readonly body?: unknown } = {}) {
    return Promise.all(this.hqs.map((hq) => new Person(hq, token).ask(path, question)));
  }

  /** A session of the remote that both list. */
  async session(token: string): Promise<string> {
    const remoteId = await eventually(async () => {
      const [at] = await this.each(token, "/api/remotes");
      return at?.json[0]?.id as string | undefined;
    }, "the remote");
    const [first] = this.hqs;
    if (first === undefined) throw new Error("there is no HQ");
    const { json } = await new Person(first, token).ask("/api/sessions", {
      body: { remoteId, command: ["cat"] },
    });
    const isListed = ({ json: records }: Answer): boolean =>
      records.some(({ id }: { readonly id: string }) => id === json.id);
    const listed = async () => (await this.each(token, "/api/sessions")).every(isListed) || undefined;
    await eventually(listed, "the session at both");
    return json.id;
  }

  /** Resolves when this is each HQ's last log message about its registry. */
  async say(words: string): Promise<void> {
    const isSaid = async () => this.hqs.every((hq) => toldBy(hq).at(-1) === words) || undefined;
    await eventually(isSaid, words);
  }

  [Symbol.asyncDispose](): Promise<void> {
    return Promise.resolve(this.#owned[Symbol.asyncDispose]());
  }
}

/** An HQ's log messages about its registry. */
function toldBy(hq: TestServer): readonly string[] {
  return hq.log.match(new RegExp(`${OUT_OF_REACH}|${BACK}`, "g")) ?? [];
}

type Outage = { readonly begin: () => unknown; readonly end: () => unknown };

async function survives(group: Group, { begin, end }: Outage): Promise<void> {
  const [kept, leaving] = [await group.logIn(), await group.logIn()];
  const id = await group.session(kept);
  await begin();
  for (const answer of await group.each(leaving, "/api/auth/logout", { method: "POST" })) {
    expect(answer).toMatchObject(UNAVAILABLE);
  }
  await group.say(OUT_OF_REACH);
  const input = await group.each(kept, `/api/sessions/${id}/input`, { body: { text: "x" } });
  expect(input.map(({ status }) => status)).toEqual([200, 200]);
  await end();
  await group.say(BACK);
  await eventually(async () => {
    const tickets = await group.each(kept, "/api/auth/ws-ticket", { method: "POST" });
    return tickets.every(({ status }) => status === 200) || undefined;
  }, "tickets of both");
  for (const { status } of await group.each(leaving, "/api/sessions")) expect(status).toBe(401);
  for (const hq of group.hqs) {
    const told = toldBy(hq);
    expect(told).toEqual(told.map((_, index) => (index % 2 === 0 ? OUT_OF_REACH : BACK)));
  }
}

let owned: AsyncDisposableStack;
let redis: RedisSentinels;
let group: Group;

beforeAll(async () => {
  await using stack = new AsyncDisposableStack();
  redis = stack.use(await RedisSentinels.start());
  group = stack.use(await Group.start(redis.url));
  owned = stack.move();
});
afterAll(() => owned[Symbol.asyncDispose]());

const replicaOf = (host: string, port: string) => () =>
  redis.master.ask((asking) => asking.replicaof(host, port));
/** The registry has a record. */
const needReplicas = (count: number) => () =>
  redis.master.ask((asking) => asking.config("SET", "min-replicas-to-write", count));

test.each<Outage & { readonly name: string }>([
  {
    name: "stopped",
    begin: () => redis.master.stop({ isDataKept: true }),
    end: () => redis.master.resume(),
  },
  { name: "paused", begin: () => redis.master.freeze(), end: () => redis.master.thaw() },
  { name: "cut off", begin: () => redis.network.cut(), end: () => redis.network.mend() },
  { name: "a replica", begin: replicaOf("127.0.0.1", "9"), end: replicaOf("no", "one") },
  { name: "unwilling to write", begin: needReplicas(2), end: needReplicas(0) },
  { name: "dead, and replaced by Sentinels", begin: () => redis.kill(), end: () => redis.watch() },
])("a Redis that is $name takes nothing away that is known, and is used again by itself", async (outage) => {
  await survives(group, outage);
});
