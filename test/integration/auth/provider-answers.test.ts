// A provider's answers to the renewal of a login, and their effect.
import { once } from "node:events";
import { createServer, type ServerResponse } from "node:http";
import { expect, test } from "vitest";
import { Secret } from "../../../src/lib/secret.ts";
import { Provider } from "../../../src/proxy/provider/provider.ts";

type Answer = (response: ServerResponse) => void;

const json =
  (status: number, body: object): Answer =>
  (response) =>
    response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(body));
const page =
  (status: number): Answer =>
  (response) =>
    response.writeHead(status, { "content-type": "text/html" }).end("<h1>Back soon</h1>");
const breakingOff: Answer = (response) => {
  response.writeHead(200, { "content-type": "application/json", "content-length": 100 });
  response.write("{", () => response.destroy());
};

/** The result of a renewal with that answer. */
async function outcomeOf(answer: Answer): Promise<unknown> {
  await using server = createServer(({ url }, response) => {
    if (url === "/token") answer(response);
    else json(200, { issuer, token_endpoint: `${issuer}/token` })(response);
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  if (address === null || typeof address === "string") throw new Error("no port");
  const issuer = `http://127.0.0.1:${address.port}`;
  const places = { callbackUrl: "https://localhost/callback", loggedOutUrl: "https://localhost/" };
  const clientSecret = Secret.fromText("a secret of this test");
  const provider = new Provider(
    {
      issuer,
      clientId: "ttyhq",
      clientSecret,
      scope: "openid",
      claims: { nameClaim: undefined, required: new Map(), named: new Set<string>() },
      ...places,
    },
    { info: () => {}, warn: () => {} },
  );
  const user = { login: "ada", name: undefined, picture: undefined };
  const login = { subject: "1", user, idToken: undefined, refreshToken: "refresh", validForMs: 1 };
  const renewed = provider.renew(login).then(
    ({ refreshToken }) => refreshToken,
    ({ code }: { code?: unknown }) => code,
  );
  const outcome = await renewed;
  server.closeAllConnections();
  return outcome;
}

test("a login that the provider renews goes on with what it gave", async () => {
  const given = { access_token: "access", token_type: "bearer", refresh_token: "next" };
  expect(await outcomeOf(json(200, given))).toBe("next");
});

test.each<[string, Answer]>([
  ["breaks off", breakingOff],
  ["is a page in its place", page(200)],
  ["is a page that it is not there", page(404)],
  ["is a page that it does not work", page(503)],
  ["is the way to a page", (response) => response.writeHead(302, { location: "/back-soon" }).end()],
  ["is that it does not work", json(503, { error: "temporarily_unavailable" })],
  ["is that it was asked too often", json(429, { error: "slow_down" })],
])("an answer that %s is none", async (_, answer) => {
  expect(await outcomeOf(answer)).toBe("provider_unreachable");
});

test.each<[string, Answer]>([
  ["that the login is over", json(400, { error: "invalid_grant" })],
  ["that this server may not ask", json(401, { error: "invalid_client" })],
  ["that this user may not come in, on a page", page(403)],
  ["in other words than it should be in", page(400)],
])("the answer %s is a refusal", async (_, answer) => {
  expect(await outcomeOf(answer)).toBe("login_refused");
});
