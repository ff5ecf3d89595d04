// Uses every kind of secret at the highest log level; no log may contain any of them (contract 5.5).
import { randomBytes } from "node:crypto";
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { encodeFrame, FrameType } from "../../src/protocol/frame/frame.ts";
import { encodeJson } from "../../src/protocol/frame/payload.ts";
import { ttyhq } from "./harness/command.ts";
import { Follower } from "./harness/follower.ts";
import { ask, shakeHands } from "./harness/http.ts";
import { askAs, bearer, ticketFor } from "./harness/password-server.ts";
import { TestServer } from "./harness/test-server.ts";

/** Distinguishable from all other text in a log. */
const secret = (name: string): string => `${name}-${randomBytes(9).toString("hex")}`;

/** The secrets to search for, by description. For tokens also their signature alone. */
class Secrets {
  readonly #texts = new Map<string, string>();

  keep(name: string, text: string): string {
    this.#texts.set(name, text);
    const signature = text.split(".")[2];
    if (signature !== undefined && signature !== "") this.#texts.set(`signature of ${name}`, signature);
    return text;
  }

  make(name: string): string {
    return this.keep(name, secret(name.replaceAll(" ", "-")));
  }

  /** The secrets in the text, literally or encoded as in a URL, JSON or base64. */
  foundIn(text: string): string[] {
    const spellings = (each: string) => [each, encodeURIComponent(each), btoa(each).replace(/=*$/, "")];
    return [...this.#texts]
      .filter(([, each]) => spellings(each).some((one) => text.includes(one)))
      .map(([name]) => name);
  }

  of(name: string): string {
    return this.#texts.get(name) ?? "";
  }

  get size(): number {
    return this.#texts.size;
  }
}

async function start(secrets: Secrets, format: string): Promise<TestServer> {
  return await TestServer.start({
    asProcess: true,
    args: ["--debug", "--log-format", format, "--login-link", "--rate-limit-api", "0"],
    env: {
      SERVICE_USERNAME: "ada",
      SERVICE_PASSWORD: secrets.make("password"),
      TTYHQ_JWT_SECRET: secrets.make("token secret of many bytes"),
      TTYHQ_TOKEN: secrets.make("token of the command line"),
    },
  });
}

const post = (server: TestServer, path: string, body: unknown, headers = {}) =>
  ask(server.url, `/api/auth/${path}`, { method: "POST", body, headers });

/** Right and wrong logins with every method. Returns a token. */
async function logIns(server: TestServer, secrets: Secrets, password: string): Promise<string> {
  const { json } = await post(server, "token", { password });
  const old = await post(server, "password", { userId: "ada", password });
  secrets.keep("token of the old name", old.json.token);
  await post(server, "token", { username: "ada", password: secrets.make("wrong password") });
  await post(server, "token", { username: secrets.make("password typed as a name"), password: "" });
  await post(server, "password", { userId: "ada", password: secrets.make("wrong password old") });
  await post(server, "token", `{"password":"${secrets.make("password in broken JSON")}`);
  await post(server, "token", { password: [secrets.make("password in a list")] });
  await post(server, "token", { password: secrets.make("password too long") + "x".repeat(5_000) });
  await post(server, "token", `${secrets.make("password in plain text")}`, { "content-type": "text/plain" });
  await ask(server.url, `/api/auth/token?password=${secrets.make("password in the query")}`);
  await ask(server.url, `/api/auth/token#${secrets.make("password in a fragment")}`);
  return secrets.keep("token", json.token);
}

async function links(server: TestServer, secrets: Secrets): Promise<void> {
  const made = await ttyhq(["login-link", "--control-dir", server.controlDir]);
  for (const link of [server.loginLink, made.stdout.trim()]) {
    const ticket = secrets.keep(`link ${link}`, link.split("#login=")[1] ?? "");
    secrets.keep(`token of ${link}`, (await post(server, "token", { ticket })).json.token);
    await post(server, "token", { ticket });
  }
  await post(server, "token", { ticket: secrets.make("guessed link") });
  await ask(server.url, `/?login=${secrets.make("link in the query")}`);
}

/** Credentials of all kinds at every endpoint, intact and damaged. */
async function proofs(server: TestServer, secrets: Secrets, token: string, id: string): Promise<void> {
  const ticket = secrets.keep("ticket", await ticketFor(token, server));
  const [head = "", claims = "", signature = ""] = token.split(".");
  const damaged = [
    secrets.keep("cut token", `${head}.${claims}.${signature.slice(0, 20)}`),
    secrets.keep("changed token", `${head}.${claims}.A${signature.slice(1)}`),
    secrets.keep("token without a signature", `${head}.${claims}.`),
    secrets.make("guessed token"),
    `${secrets.make("spaced token")} and more`,
    secrets.make("long token") + "y".repeat(5_000),
  ];
  for (const each of [token, ticket, ...damaged]) {
    const query = `token=${encodeURIComponent(each)}`;
    await askAs(each, server, "/api/sessions");
    await askAs(each, server, "/api/nothing");
    await askAs(each, server, "/api/sessions/none");
    await ask(server.url, "/api/sessions", { headers: { authorization: `Basic ${btoa(`ada:${each}`)}` } });
    await ask(server.url, "/api/sessions", { headers: { cookie: `token=${each}` } });
    for (const path of ["/api/sessions", "/nothing", "/", `/api/sessions/${id}/stream`]) {
      await ask(server.url, `${path}?${query}`);
    }
    await shakeHands(server.url, `/ws?${query}`);
    await shakeHands(server.url, `/other?${query}`);
    await shakeHands(server.url, "/ws", bearer(each));
    await shakeHands(server.url, "/ws", { ...bearer(each), origin: `https://${each.slice(0, 20)}.example` });
  }
}

/** Input and output are secret, too. */
async function typing(server: TestServer, secrets: Secrets, token: string): Promise<string> {
  const request = {
    command: ["sh", "-c", "read line; echo got", secrets.make("argument")],
    env: { API_KEY: secrets.make("variable") },
  };
  const { json } = await askAs(token, server, "/api/sessions", { body: request });
  using socket = server.connect(token);
  using follower = Follower.attach(socket, json.id);
  await askAs(token, server, `/api/sessions/${json.id}/input`, { body: { text: secrets.make("typed") } });
  await socket.write(json.id, new TextEncoder().encode(`${secrets.make("typed over the socket")}\n`));
  await follower.shows(/got/);
  await follower.exit();
  return json.id;
}

/** Invalid frames and messages with secrets in them. */
async function rudeFrames(server: TestServer, secrets: Secrets, token: string): Promise<void> {
  const socket = new WebSocket(
    `${server.url.replace("http", "ws")}/ws?token=${await ticketFor(token, server)}`,
  );
  const { promise, resolve } = Promise.withResolvers<void>();
  socket.onclose = () => resolve();
  socket.onopen = () => {
    socket.send(secrets.make("text message"));
    socket.send(new TextEncoder().encode(secrets.make("no frame")));
    socket.send(
      encodeFrame(FrameType.HELLO, "", encodeJson({ client: "test", token: secrets.make("in a hello") })),
    );
    socket.send(encodeFrame(FrameType.RESIZE, secrets.make("session id"), new Uint8Array(3)));
    socket.send(new Uint8Array(2 * 1024 * 1024));
  };
  await promise;
}

test.each(["json", "text"])("no log holds a secret (as %s)", async (format) => {
  const secrets = new Secrets();
  await using server = await start(secrets, format);
  const token = await logIns(server, secrets, secrets.of("password"));
  await links(server, secrets);
  const id = await typing(server, secrets, token);
  await proofs(server, secrets, token, id);
  await rudeFrames(server, secrets, token);
  await askAs(token, server, "/api/auth/logout", { method: "POST" });
  await askAs(token, server, "/api/sessions");
  await server.kill("SIGTERM");
  const logs = new Map([["server", server.log]]);
  for (const name of await readdir(server.controlDir)) {
    if (name.endsWith(".log")) logs.set(name, await readFile(join(server.controlDir, name), "utf8"));
  }
  expect([...logs.keys()].sort()).toEqual(["audit.log", "host.log", "server"]);
  expect(secrets.size).toBeGreaterThan(35);
  // The audit log must name the started program, as on every system.
  const open = new Map([["audit.log", ["argument"]]]);
  for (const [name, text] of logs)
    expect([name, secrets.foundIn(text)]).toEqual([name, open.get(name) ?? []]);
  for (const said of ["logged in", "login refused", "logged out", "request", "client left"]) {
    expect(server.log).toContain(said);
  }
});
