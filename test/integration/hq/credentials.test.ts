// Who may join an HQ, and who may use it (specification 5.5).
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { eventually } from "../../../packages/testing/src/wait.ts";
import { ask, shakeHands } from "../harness/http.ts";
import { basic, CREDENTIALS, TestFleet } from "../harness/test-fleet.ts";

const REGISTRATION = { id: "by-hand", name: "by-hand", url: "http://127.0.0.1:9", token: "token-by-hand" };

let fleet: TestFleet;
let addresses = 1;
beforeAll(async () => {
  fleet = await TestFleet.start({ isGuarded: true });
});
afterAll(async () => {
  await fleet[Symbol.asyncDispose]();
});

describe("without the credentials of the HQ", () => {
  test("a remote does not join, and its log says why", async () => {
    const stranger = await fleet.add("stranger", { env: { TTYHQ_HQ_PASSWORD: "wrong" } });
    const tries = (): number => stranger.log.split("not registered with the HQ").length - 1;
    await eventually(async () => tries() >= 2 || undefined, "two tries");
    expect(stranger.log).toContain("wrong user name or password");
    expect((await fleet.remotes()).some(({ name }) => name === "stranger")).toBe(false);
    await stranger[Symbol.asyncDispose]();
  });

  test.each([
    ["nothing", {}],
    ["another password", { authorization: basic("fleet", "wrong") }],
    ["another user", { authorization: basic("someone", CREDENTIALS.password) }],
    ["a token that is none", { authorization: "Bearer eyJhbGciOiJIUzI1NiJ9.e30.x" }],
  ])("%s opens no endpoint of the registry", async (_, headers) => {
    addresses += 1;
    // From a separate address, because failed logins are counted.
    const from = `127.0.0.${addresses}`;
    const at = (path: string, question: object = {}) =>
      ask(fleet.hq.url, path, { headers, from, ...question });
    const answers = await Promise.all([
      at("/api/remotes"),
      at("/api/remotes/register", { body: { ...REGISTRATION } }),
      at("/api/remotes/worker-1/refresh-sessions", { body: {} }),
      at("/api/remotes/nobody", { method: "DELETE" }),
      at("/api/remotes/worker-1/proxy/api/sessions"),
    ]);
    expect(answers.map(({ status, json }) => [status, json.code])).toEqual(
      answers.map(() => [401, "unauthorized"]),
    );
  });
});

describe("a client of the HQ", () => {
  test("may prove itself by Basic or by a token, everywhere", async () => {
    const { json } = await ask(fleet.hq.url, "/api/auth/token", { body: CREDENTIALS });
    for (const authorization of [basic(), `Bearer ${json.token}`]) {
      const headers = { authorization };
      const paths = ["/api/remotes", "/api/sessions", "/api/remotes/worker-1/proxy/api/sessions"];
      for (const path of paths) expect((await ask(fleet.hq.url, path, { headers })).status).toBe(200);
      expect((await shakeHands(fleet.hq.url, "/ws", headers)).status).toBe(101);
    }
  });
});

describe("an HQ started with --no-hq-auth", () => {
  test("lets everybody join, and nobody else in", async () => {
    await using open = await TestFleet.start({ isGuarded: true, remotes: 0, hqArgs: ["--no-hq-auth"] });
    const unproven = { TTYHQ_HQ_USERNAME: "", TTYHQ_HQ_PASSWORD: "", TTYHQ_NO_HQ_AUTH: "true" };
    await open.add("worker-1", { env: unproven });
    const at = (path: string, question: object = {}) => ask(open.hq.url, path, question);
    const seen = await eventually(async () => {
      const { json } = await at("/api/remotes");
      return json.length > 0 ? json : undefined;
    }, "the remote");
    expect(seen).toMatchObject([{ name: "worker-1" }]);
    expect(open.hq.log).toContain("--no-hq-auth");
    expect((await at("/api/sessions")).status).toBe(401);
    expect((await at("/api/remotes/worker-1/proxy/api/sessions")).status).toBe(401);
    expect((await shakeHands(open.hq.url)).status).toBe(401);
  });
});
