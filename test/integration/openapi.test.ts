// Calls every endpoint of the server's own API description and checks its answer (contract 2.7).
import { dirname } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { z } from "zod";
import { FollowRepository } from "./git/follow-repository.ts";
import { type Answer, ask, type PathQuestion } from "./harness/http.ts";
import { NO_LIMITS, TestServer } from "./harness/test-server.ts";

const Schema = z.record(z.string(), z.unknown());
const Media = z.record(z.string(), z.object({ schema: Schema }));
const Operation = z.object({
  operationId: z.string(),
  security: z.array(z.record(z.string(), z.array(z.string()))),
  parameters: z
    .array(z.object({ name: z.string(), in: z.enum(["path", "query"]), schema: Schema }))
    .default([]),
  requestBody: z.object({ content: Media }).optional(),
  responses: z.record(z.string(), z.object({ content: Media })),
});
type Operation = z.infer<typeof Operation>;
const Document = z.object({
  openapi: z.literal("3.1.0"),
  paths: z.record(z.string(), z.partialRecord(z.enum(["get", "post", "patch", "delete"]), Operation)),
  components: z.object({ schemas: z.object({ Error: Schema }) }),
});

type Described = { readonly method: string; readonly path: string; readonly operation: Operation };
type Input = {
  readonly id?: string;
  readonly shareId?: string;
  readonly loginId?: string;
  readonly tokenId?: string;
  readonly branch?: string;
  readonly query?: string;
  readonly body?: unknown;
  /** It is endless. */
  readonly isHeadEnough?: boolean;
};

const CREDENTIALS = { username: "alice", password: "correct horse" };

let server: TestServer;
let authorization: string;
let document: z.infer<typeof Document>;
let described: Described[];

beforeAll(async () => {
  server = await TestServer.start({
    args: NO_LIMITS,
    env: { SERVICE_USERNAME: CREDENTIALS.username, SERVICE_PASSWORD: CREDENTIALS.password },
  });
  document = Document.parse((await ask(server.url, "/api/openapi.json")).json);
  described = Object.entries(document.paths).flatMap(([path, operations]) =>
    Object.entries(operations).map(([method, operation]) => ({
      method,
      path,
      operation: Operation.parse(operation),
    })),
  );
  const login = await ask(server.url, "/api/auth/token", { body: CREDENTIALS });
  authorization = `Bearer ${Object(login.json).token}`;
});
afterAll(async () => {
  await server[Symbol.asyncDispose]();
  await made.disposeAsync();
});

const asUser = (request: PathQuestion): Promise<Answer> =>
  ask(server.url, request.path, { ...request, headers: { authorization, ...request.headers } });

async function session(command: readonly string[]): Promise<string> {
  const answer = await asUser({ method: "POST", path: "/api/sessions", body: { command } });
  return z.object({ id: z.string() }).parse(answer.json).id;
}

const running = (): Promise<string> => session(["cat"]);
const ended = async (): Promise<string> => {
  const id = await session(["true"]);
  // The recording of a session is complete when the session has ended.
  await asUser({ path: `/api/sessions/${id}/recording` });
  return id;
};

const made = new AsyncDisposableStack();
/** With a worktree that has the branch `feature`. */
const repository = async (): Promise<string> => made.use(await FollowRepository.make()).main.path;

const PASSKEY = {
  challengeId: "any",
  name: "key",
  registration: {
    ...{ id: "any", rawId: "any", type: "public-key", clientExtensionResults: {} },
    response: { clientDataJSON: "any", attestationObject: "any" },
  },
};
const API_TOKEN = { name: "ci", scope: ["sessions:view"], expiresIn: 3_600 };
const SIGNED = { challengeId: "any", publicKey: "any", signature: "any" };

/** The calls of each endpoint; a missing endpoint fails the test. */
const INPUTS: Readonly<Record<string, () => Promise<Input>>> = {
  listSessions: async () => ({}),
  createSession: async () => ({ body: { command: ["true"] } }),
  getSession: async () => ({ id: await running() }),
  renameSession: async () => ({ id: await running(), body: { name: "x" } }),
  deleteSession: async () => ({ id: await running() }),
  cleanupSession: async () => ({ id: await ended() }),
  cleanupExited: async () => ({}),
  inputSession: async () => ({ id: await running(), body: { text: "x" } }),
  resizeSession: async () => ({ id: await running(), body: { cols: 100, rows: 50 } }),
  killSession: async () => ({ id: await running(), body: { signal: "SIGHUP" } }),
  markSession: async () => ({ id: await running(), body: { label: "x" } }),
  sessionText: async () => ({ id: await running(), query: "?scrollback=1&styles=1" }),
  sessionBuffer: async () => ({ id: await running() }),
  sessionResync: async () => ({ id: await running() }),
  sessionRecording: async () => ({ id: await ended(), query: "?follow=1" }),
  sessionStream: async () => ({ id: await ended(), query: "?after=1" }),
  sessionOutput: async () => ({ id: await ended(), query: "?from=0&to=10" }),
  sessionEvents: async () => ({ id: await ended(), query: "?from=0" }),
  uploadFile: async () => ({ id: await running(), query: "?name=x", body: "x" }),
  downloadFile: async () => ({ id: await running(), query: "?path=/etc/hostname" }),
  listActivity: async () => ({}),
  sessionActivity: async () => ({ id: await running() }),
  sessionGitStatus: async () => ({ id: await running() }),
  resetSessionSize: async () => ({ id: await running() }),
  serverStatus: async () => ({}),
  serverEvents: async () => ({ isHeadEnough: true }),
  createShare: async () => ({ id: await running(), body: { mode: "type", expiresIn: 60 } }),
  listAllShares: async () => ({}),
  listViewers: async () => ({ id: await running() }),
  listShares: async () => ({ id: await running() }),
  updateShare: async () => {
    const id = await running();
    const { json } = await asUser({ method: "POST", path: `/api/sessions/${id}/share`, body: {} });
    return { id, shareId: Object(json).id, body: { mode: "type" } };
  },
  revokeShare: async () => {
    const id = await running();
    const { json } = await asUser({ method: "POST", path: `/api/sessions/${id}/share`, body: {} });
    return { id, shareId: Object(json).id };
  },
  listClients: async () => ({}),
  testNotification: async () => ({}),
  health: async () => ({}),
  livez: async () => ({}),
  readyz: async () => ({}),
  ready: async () => ({}),
  metrics: async () => ({}),
  openapi: async () => ({}),
  cordonServer: async () => ({ body: { cordoned: false } }),
  readUsage: async () => ({}),
  readAudit: async () => ({ query: "?action=login&result=ok&limit=5" }),
  createToken: async () => ({ body: CREDENTIALS }),
  answerLogin: async () => ({ body: { challengeId: "any", answers: ["any"] } }),
  authConfig: async () => ({}),
  createWsTicket: async () => ({}),
  createLoginLink: async () => ({}),
  passwordLogin: async () => ({ body: { userId: CREDENTIALS.username, password: CREDENTIALS.password } }),
  createChallenge: async () => ({ body: { userId: CREDENTIALS.username } }),
  sshLogin: async () => ({ body: SIGNED }),
  sshKeyLogin: async () => ({ body: SIGNED }),
  verifyToken: async () => ({}),
  currentUser: async () => ({}),
  avatar: async () => ({}),
  logout: async () => ({}),
  secondFactor: async () => ({ body: { challengeId: "any", recoveryCode: "any" } }),
  listLogins: async () => ({ query: "?all=1" }),
  endLogin: async () => {
    await ask(server.url, "/api/auth/token", { body: CREDENTIALS });
    const { json } = await asUser({ path: "/api/auth/logins" });
    const all = z.array(z.object({ id: z.string(), current: z.boolean() })).parse(json);
    return { loginId: all.find(({ current }) => !current)?.id ?? "" };
  },
  createApiToken: async () => ({ body: API_TOKEN }),
  listApiTokens: async () => ({ query: "?all=1" }),
  revokeApiToken: async () => {
    const body = { ...API_TOKEN, name: "another" };
    const { json } = await asUser({ method: "POST", path: "/api/auth/tokens", body });
    return { tokenId: z.object({ id: z.string() }).parse(json).id };
  },
  listPasskeys: async () => ({}),
  passkeyOptions: async () => ({}),
  createPasskey: async () => ({ body: PASSKEY }),
  removePasskey: async () => ({}),
  createRecoveryCodes: async () => ({}),
  createEnrolmentCode: async () => ({ body: { user: CREDENTIALS.username } }),
  setFollow: async () => ({ body: { repoPath: await repository(), branch: "feature", enable: true } }),
  getFollow: async () => ({ query: `?path=${encodeURIComponent(await repository())}` }),
  gitEvent: async () => ({ body: { repoPath: await repository(), event: "commit" } }),
  listNotifications: async () => ({ query: "?client=x" }),
  listWorktrees: async () => ({ query: `?repoPath=${encodeURIComponent(await repository())}` }),
  createWorktree: async () => ({ body: { repoPath: await repository(), branch: "new" } }),
  removeWorktree: async () => ({
    ...{ branch: "feature", query: `?repoPath=${encodeURIComponent(await repository())}` },
  }),
  pruneWorktrees: async () => ({ body: { repoPath: await repository() } }),
  switchBranch: async () => ({ body: { repoPath: await repository(), branch: "feature" } }),
  ...Object.fromEntries(
    ["repositoryInfo", "repositoryStatus", "repositoryRemote", "repositorySummary", "listBranches"].map(
      (name) => [name, async () => ({ query: `?path=${encodeURIComponent(await repository())}` })],
    ),
  ),
  discoverRepositories: async () => ({ query: `?path=${encodeURIComponent(dirname(await repository()))}` }),
};

/** Reasons for a different answer than success here, for example that it needs the server's own socket. */
const REFUSED: Readonly<Record<string, string>> = {
  resetSessionSize: "400",
  createLoginLink: "403",
  // Without the option for keys.
  ...{ createChallenge: "403", sshLogin: "403", sshKeyLogin: "403" },
  // A passkey is bound to a name, not an address, and no authenticator answers here: see browser/passkeys.test.ts.
  ...{
    answerLogin: "401",
    secondFactor: "401",
    passkeyOptions: "400",
    createPasskey: "401",
    removePasskey: "404",
    createRecoveryCodes: "404",
  },
};

function requestOf(
  { method, path }: Described,
  { id, shareId, loginId, tokenId, branch, query = "", body, isHeadEnough = false }: Input,
): PathQuestion {
  const filled = path
    .replace("{id}", id ?? "nobody")
    .replace("{shareId}", shareId ?? "none")
    .replace("{loginId}", loginId ?? "none")
    .replace("{tokenId}", tokenId ?? "none")
    .replace("{branch}", branch ?? "none")
    .replace("{userId}", CREDENTIALS.username);
  return {
    method: method.toUpperCase(),
    path: filled + query,
    isHeadEnough,
    ...(body === undefined ? {} : { body }),
  };
}

/** The document lists the status for the endpoint, and the body fits its schema. */
function expectDescribed({ operation, method, path }: Described, answer: Answer): void {
  const about = `${method} ${path} answered ${answer.status} ${answer.text.slice(0, 200)}`;
  const response = operation.responses[answer.status];
  expect(response, about).toBeDefined();
  const content = response?.content ?? {};
  const type = String(answer.headers["content-type"] ?? "");
  const bare = type.replace(/; charset=utf-8$/, "");
  const media = content[type] ?? content[bare] ?? content[bare.replace(/\/.*/, "/*")];
  expect(media, `${about} as ${type}`).toBeDefined();
  const { schema = {} } = media ?? {};
  if (schema.format === "binary") return;
  const fitting = "$ref" in schema ? document.components.schemas.Error : schema;
  const result = z.fromJSONSchema(fitting).safeParse(answer.json);
  expect(result.error?.issues, about).toBeUndefined();
}

test("every endpoint answers valid input as it says", async () => {
  expect(described.map(({ operation }) => operation.operationId).sort()).toEqual(Object.keys(INPUTS).sort());
  // The token is needed until then, and revoked at the end.
  for (const each of described.sort(
    (a, b) => Number(a.path.endsWith("logout")) - Number(b.path.endsWith("logout")),
  )) {
    const { operationId, responses } = each.operation;
    const answer = await asUser(requestOf(each, await (INPUTS[operationId] ?? (async () => ({})))()));
    const expected =
      REFUSED[operationId] ?? Object.keys(responses).findLast((status) => status.startsWith("2"));
    expect(`${operationId} ${answer.status}`).toBe(`${operationId} ${expected}`);
    expectDescribed(each, answer);
  }
  const login = await ask(server.url, "/api/auth/token", { body: CREDENTIALS });
  authorization = `Bearer ${Object(login.json).token}`;
});

describe("every endpoint refuses as it says", () => {
  test("a caller without a login", async () => {
    for (const each of described.filter(({ operation }) => operation.security.length > 0)) {
      for (const headers of [{}, { authorization: "Bearer nonsense" }, { authorization: "Basic YTpi" }]) {
        const request = requestOf(each, {});
        const answer = await ask(server.url, request.path, { ...request, headers });
        expect(`${each.operation.operationId} ${answer.status}`).toBe(`${each.operation.operationId} 401`);
        expect(answer.headers["www-authenticate"]).toMatch(/^Bearer /);
        expectDescribed(each, answer);
      }
    }
  });

  test("a wrong path or query parameter", async () => {
    for (const each of described) {
      for (const { name, in: place, schema } of each.operation.parameters) {
        // A member that accepts any text has no wrong value.
        if (schema.type === "string" && schema.enum === undefined && schema.pattern === undefined) continue;
        const input = place === "path" ? { id: "no!id" } : { query: `?${name}=nonsense` };
        const answer = await asUser(requestOf(each, input));
        expect(`${each.operation.operationId} ${name} ${answer.status}`).toBe(
          `${each.operation.operationId} ${name} 400`,
        );
        expectDescribed(each, answer);
      }
    }
  });

  test("a body of another shape, no JSON, and too much of it", async () => {
    const isJson = ({ operation: { requestBody } }: Described): boolean =>
      requestBody?.content["application/json"] !== undefined;
    for (const each of described.filter(isJson)) {
      const headers = { "content-type": "application/json" };
      const bodies: readonly [unknown, number][] = [
        [5, 400],
        ["{", 400],
        [`"${"x".repeat(1_048_577)}"`, 413],
      ];
      for (const [body, status] of bodies) {
        const answer = await asUser({ ...requestOf(each, {}), headers, body });
        expect(`${each.operation.operationId} ${answer.status}`).toBe(
          `${each.operation.operationId} ${status}`,
        );
        expectDescribed(each, answer);
      }
    }
  });

  test("an unknown session", async () => {
    for (const each of described.filter(({ path }) => path.includes("{id}"))) {
      const { body, query } = (await INPUTS[each.operation.operationId]?.()) ?? {};
      const answer = await asUser(requestOf(each, { body, ...(query === undefined ? {} : { query }) }));
      expect(`${each.operation.operationId} ${answer.status}`).toBe(`${each.operation.operationId} 404`);
      expectDescribed(each, answer);
    }
  });
});
