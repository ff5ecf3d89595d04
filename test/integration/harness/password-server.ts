// A server with a name and a password.
import { type Answer, ask, type Question } from "./http.ts";
import { NO_LIMITS, TestServer, type TestServerOptions } from "./test-server.ts";

export const USERNAME = "ada";
export const PASSWORD = "correct horse";
export const TOKEN_SECRET = "a token secret of more than 32 bytes";

/** Without limits except for failed logins. `where`: whether the session host is a separate process. */
export function passwordServer(where: "inline" | "apart", more: TestServerOptions = {}): Promise<TestServer> {
  return TestServer.start({
    ...more,
    args: ["--session-host", where, ...NO_LIMITS, ...(more.args ?? [])],
    env: { SERVICE_USERNAME: USERNAME, SERVICE_PASSWORD: PASSWORD, ...more.env },
  });
}

/** A token for the right password. */
export async function logIn(server: TestServer): Promise<string> {
  const { json } = await ask(server.url, "/api/auth/token", { body: { password: PASSWORD } });
  return json.token;
}

export function bearer(token: string): Readonly<Record<string, string>> {
  return { authorization: `Bearer ${token}` };
}

/** Sends requests with the token. */
export function askAs(
  token: string,
  server: TestServer,
  path: string,
  question: Question = {},
): Promise<Answer> {
  return ask(server.url, path, { ...question, headers: { ...bearer(token), ...question.headers } });
}

/** A single-use ticket for /ws. */
export async function ticketFor(token: string, server: TestServer): Promise<string> {
  const { json } = await askAs(token, server, "/api/auth/ws-ticket", { method: "POST" });
  return json.ticket;
}
