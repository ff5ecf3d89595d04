// Rate limits of API calls (contract 4.2).
import { expect, test } from "vitest";
import type { Answer } from "./harness/http.ts";
import { Rest } from "./harness/rest.ts";
import { OPEN, TestServer } from "./harness/test-server.ts";

const SECRET = { SERVICE_USERNAME: "alice", SERVICE_PASSWORD: "correct horse" };

function expectLimited(answer: Answer, limit: number): void {
  expect([answer.status, answer.json]).toMatchObject([429, { code: "rate_limited" }]);
  const seconds = Number(answer.headers["retry-after"]);
  expect(seconds).toBeGreaterThan(0);
  expect(seconds).toBeLessThanOrEqual(60);
  expect(Object(answer.json).details).toEqual({ retryAfterSeconds: seconds });
  expect(answer.headers.ratelimit).toMatch(new RegExp(`^limit=${limit}, remaining=0, reset=\\d+$`));
}

test("10 sessions and 100 calls a minute are accepted, and the 11th and the 101st are told when to retry", async () => {
  await using server = await TestServer.start({ args: ["--no-auth"] });
  const rest = new Rest(server);
  for (let round = 1; round <= 10; round++) {
    // A refused call counts as well.
    const answer = await rest.post("/api/sessions", {
      command: round % 2 === 0 ? "true" : "no-such-program",
    });
    expect(answer.status).toBe(round % 2 === 0 ? 201 : 400);
    expect(answer.headers.ratelimit).toMatch(new RegExp(`^limit=10, remaining=${10 - round}, reset=\\d+$`));
    expect(answer.headers["ratelimit-policy"]).toBe("10;w=60");
  }
  expectLimited(await rest.post("/api/sessions", { command: "true" }), 10);
  // A creation counts as a call as well, even beyond its own limit (specification 8).
  for (let round = 12; round <= 100; round++) {
    const answer = await rest.get(round % 2 === 0 ? "/api/sessions" : "/api/sessions/nobody");
    expect(answer.headers.ratelimit).toMatch(new RegExp(`^limit=100, remaining=${100 - round},`));
    expect(answer.headers["ratelimit-policy"]).toBe("100;w=60");
  }
  expectLimited(await rest.get("/api/sessions"), 100);
  expectLimited(await rest.get("/api/auth/config"), 100);
  expectLimited(await rest.post("/api/sessions", { command: "true" }), 100);
  for (let round = 0; round < 25; round++) {
    for (const path of ["/api/health", "/api/ready", "/livez", "/readyz", "/metrics"]) {
      const answer = await rest.get(path);
      expect(answer.status).toBe(200);
      expect(answer.headers).not.toHaveProperty("ratelimit");
    }
  }
});

test("the limits are counted for each user, and for the address of whoever is none", async () => {
  const args = ["--rate-limit-api", "5", "--rate-limit-sessions", "2", "--allow-user", "bob"];
  await using server = await TestServer.start({ args, env: SECRET });
  const rest = new Rest(server);
  for (let round = 0; round < 4; round++) expect((await rest.get("/api/sessions")).status).toBe(401);
  const login = await rest.post("/api/auth/token", { username: "alice", password: "correct horse" });
  expect(login.status).toBe(200);
  expectLimited(await rest.get("/api/sessions"), 5);
  const headers = { authorization: `Bearer ${Object(login.json).token}` };
  for (let round = 0; round < 5; round++) expect((await rest.get("/api/sessions", headers)).status).toBe(200);
  expectLimited(await rest.get("/api/sessions", headers), 5);
});

test("0 is no limit", async () => {
  await using server = await TestServer.start({
    args: OPEN,
  });
  const rest = new Rest(server);
  for (let round = 0; round < 150; round++) expect((await rest.get("/api/sessions")).status).toBe(200);
  for (let round = 0; round < 15; round++)
    expect((await rest.post("/api/sessions", { command: "true" })).status).toBe(201);
});
