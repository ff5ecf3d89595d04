// The reverse proxy of --enable-proxy-serve with client certificates (contract 5.9).
import { once } from "node:events";
import { writeFile } from "node:fs/promises";
import { text } from "node:stream/consumers";
import { connect } from "node:tls";
import { afterAll, beforeAll, expect, test } from "vitest";
import { eventually } from "../../../packages/testing/src/wait.ts";
import { withDeadline } from "../../../src/lib/async/deadline.ts";
import { CertificateAuthority } from "../../unit/certificate-authority.ts";
import { ask } from "../harness/http.ts";
import { OpensslAuthority, type OpensslIdentity } from "../harness/openssl-authority.ts";
import { PATIENCE_MS } from "../harness/patience.ts";
import { People } from "../harness/people.ts";
import { proxiedServer, proxyOrigin } from "../harness/proxied-server.ts";
import { openConnection } from "../harness/raw-request.ts";
import { Scrape } from "../harness/scrape.ts";
import type { TestServer } from "../harness/test-server.ts";
import { TlsClient } from "../harness/tls-client.ts";

const DAY_S = 86_400;
/** The lifetime of a certificate that expires during its use. */
const SHORT_S = 10;
const scope = new AsyncDisposableStack();
let authority: OpensslAuthority;
let stranger: OpensslAuthority;
let server: TestServer;
let origin: string;

beforeAll(async () => {
  authority = scope.use(await OpensslAuthority.make("our people"));
  stranger = scope.use(await OpensslAuthority.make("our people"));
  origin = await proxyOrigin();
  const args = ["--proxy-client-ca", authority.certFile, "--allow-user", "*", "--allow-user", "server"];
  server = scope.use(await proxiedServer({ origin, authority, args }));
});
afterAll(() => scope.disposeAsync());

function clientWith(identity?: OpensslIdentity): TlsClient {
  const { cert, key } = identity ?? {};
  return new TlsClient({
    ca: authority.cert,
    ...(cert === undefined || key === undefined ? {} : { cert, key }),
  });
}

async function userOf(identity: OpensslIdentity): Promise<unknown> {
  return (await clientWith(identity).ask(`${origin}/api/auth/config`)).json.user;
}

test("the proxy's address is the server's, which itself is for this machine alone", async () => {
  expect(server.url).toBe(origin);
  expect(server.behind).toMatch(/^http:\/\/127\.0\.0\.1:\d+$/);
  expect((await ask(server.behind, "/api/sessions")).status).toBe(401);
  expect((await ask(server.behind, "/api/auth/config")).json).not.toHaveProperty("user");
});

test("the connections to the proxy are counted as those to the public address", async () => {
  const sockets = await Promise.all(Array.from({ length: 20 }, () => openConnection(origin)));
  const { behind: url = "", controlDir } = server;
  await eventually(async () => {
    const open = (await Scrape.of({ url, controlDir })).value("ttyhq_connections");
    return open >= sockets.length ? true : undefined;
  }, "the count");
  for (const socket of sockets) socket.destroy();
});

test("a certificate says who asks: its e-mail address, else that of its subject, else its common name", async () => {
  const subject = "/CN=Ada Lovelace/emailAddress=old@example.com";
  const names = "email:ada@example.com,DNS:ada.example.com";
  expect(await userOf(await authority.issue({ subject, names }))).toBe("ada@example.com");
  expect(await userOf(await authority.issue({ subject }))).toBe("old@example.com");
  expect(await userOf(await authority.issue({ subject: "/CN=grace" }))).toBe("grace");
  expect(await userOf(await authority.issue({ subject: "/CN=Zoë/emailAddress=z@example.com" }))).toBe(
    "z@example.com",
  );
  expect(await userOf(await authority.issue({ subject: "/CN=zoë" }))).toBe("zoë");
});

test("a user with a token has sessions of their own, over REST and over /ws", async () => {
  await using people = await People.make();
  const { one, other } = people;
  const ada = clientWith(await authority.issue({ subject: `/CN=${one}`, purpose: "clientAuth" }));
  const headers = { "content-type": "application/json" };
  const body = JSON.stringify({ command: ["cat"] });
  const made = await ada.ask(`${origin}/api/sessions`, { method: "POST", headers, body });
  expect([made.status, made.json.status]).toEqual([201, "running"]);
  const listed = await ada.ask(`${origin}/api/sessions`);
  expect(listed.json.map(({ id }: { id: string }) => id)).toEqual([made.json.id]);
  const socket = await ada.webSocket(origin, { origin });
  socket.close();
  const grace = clientWith(await authority.issue({ subject: `/CN=${other}` }));
  expect((await grace.ask(`${origin}/api/sessions`)).json).toEqual([]);
  expect((await grace.ask(`${origin}/api/sessions/${made.json.id}`)).status).toBe(404);
  // Allows disposing its user.
  expect((await ada.ask(`${origin}/api/sessions/${made.json.id}`, { method: "DELETE" })).status).toBe(200);
});

test("without a certificate nobody gets as far as a request", async () => {
  await expect(clientWith().ask(`${origin}/`)).rejects.toThrow();
  await expect(clientWith().webSocket(origin)).rejects.toThrow();
});

test.each<[string, () => Promise<OpensslIdentity>]>([
  ["that has expired", () => authority.issue({ subject: "/CN=ada", days: -1 })],
  ["of another authority of the same name", () => stranger.issue({ subject: "/CN=ada" })],
  ["for servers", () => authority.issue({ subject: "/CN=ada", purpose: "serverAuth" })],
])("a certificate %s is refused", async (_, make) => {
  const client = clientWith(await make());
  await expect(client.ask(`${origin}/api/auth/config`)).rejects.toThrow();
  await expect(client.webSocket(origin)).rejects.toThrow();
});

test("a certificate without a user name is stopped at the proxy", async () => {
  const nobody = clientWith(await authority.issue({ subject: "/O=example/CN=two words" }));
  expect((await nobody.ask(`${origin}/api/auth/config`)).json).toMatchObject({ code: "unauthorized" });
  await expect(nobody.webSocket(origin)).rejects.toThrow("status 401");
  const page = await nobody.visit(origin);
  expect([page.status, page.text]).toEqual([401, expect.stringContaining("names nobody")]);
});

test("headers that say who asks are the proxy's own, whatever a client sends", async () => {
  const client = clientWith(await authority.issue({ subject: "/CN=ada" }));
  const said = {
    ...{ "proxy-user-login": "server", Proxy_User_Login: "server", "proxy-user-proof": "guess" },
    ...{ "x-ttyhq-local": "guess", "ttyhq-on-behalf-of": "server", "x-forwarded-for": "127.0.0.1" },
  };
  expect((await client.ask(`${origin}/api/auth/config`, { headers: said })).json.user).toBe("ada");
  // The secret does not get out either.
  const log = server.log;
  expect(log).not.toContain("guess");
});

test("a service token overrides the certificate, which is still required", async () => {
  const ada = clientWith(await authority.issue({ subject: "/CN=ada" }));
  const headers = { "content-type": "application/json" };
  const body = JSON.stringify({ username: "server", password: "correct horse" });
  const { json } = await ada.ask(`${origin}/api/auth/token`, { method: "POST", headers, body });
  const authorization = `Bearer ${json.token}`;
  const verified = await ada.ask(`${origin}/api/auth/verify`, { headers: { authorization } });
  expect(verified.json).toMatchObject({ valid: true, userId: "server" });
  await expect(
    clientWith().ask(`${origin}/api/auth/verify`, { headers: { authorization } }),
  ).rejects.toThrow();
  // The server's user for the caller without a token.
  expect((await ada.ask(`${origin}/api/auth/config`, { headers: { authorization } })).json.user).toBe("ada");
});

test("a page of another origin changes nothing, although the browser shows the certificate for it", async () => {
  const ada = clientWith(await authority.issue({ subject: "/CN=server" }));
  const headers = { "content-type": "application/json", origin: "https://evil.example" };
  const body = JSON.stringify({ command: ["true"] });
  const refused = await ada.ask(`${origin}/api/sessions`, { method: "POST", headers, body });
  expect([refused.status, refused.json.code]).toEqual([403, "origin_not_allowed"]);
  await expect(ada.webSocket(origin, { origin: "https://evil.example" })).rejects.toThrow("status 403");
  await expect(ada.webSocket(origin, { origin: origin.replace("https", "http") })).rejects.toThrow(
    "status 403",
  );
  const own = await ada.ask(`${origin}/api/sessions`, {
    method: "POST",
    headers: { ...headers, origin },
    body,
  });
  expect(own.status).toBe(201);
});

test.each(["TLSv1.2", "TLSv1.3"] as const)(
  "a browser that resumes its session of %s is still who it was",
  async (version) => {
    const { cert, key } = await authority.issue({ subject: "/CN=ada" });
    const options = {
      ca: authority.cert,
      cert,
      key,
      servername: "localhost",
      minVersion: version,
      maxVersion: version,
    };
    let session: Buffer | undefined;
    for (const isResumed of [false, true]) {
      const resumed = session === undefined ? {} : { session };
      const socket = connect({
        ...options,
        ...resumed,
        host: "127.0.0.1",
        port: Number(new URL(origin).port),
      });
      socket.on("session", (kept) => {
        session = kept;
      });
      await withDeadline(once(socket, "secureConnect"), PATIENCE_MS, "the handshake");
      expect(socket.isSessionReused()).toBe(isResumed);
      socket.write("GET /api/auth/config HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n");
      expect(await text(socket)).toContain('"user":"ada"');
    }
  },
);

test("failed logins are counted and told of under the client's own address, not the proxy's", async () => {
  const { cert, key } = await authority.issue({ subject: "/CN=ada" });
  const place = { host: "127.0.0.1", port: Number(new URL(origin).port), localAddress: "127.0.0.55" };
  const socket = connect({ ca: authority.cert, cert, key, servername: "localhost", ...place });
  const body = JSON.stringify({ username: "nobody", password: "wrong" });
  const head = [
    "POST /api/auth/token HTTP/1.1",
    "Host: localhost",
    `Content-Length: ${body.length}`,
    "Connection: close",
  ];
  socket.write(`${[...head, "X-Forwarded-For: 198.51.100.1"].join("\r\n")}\r\n\r\n${body}`);
  expect(await text(socket)).toMatch(/^HTTP\/1\.1 401 /);
  const refused = () => server.log.split("\n").findLast((line) => line.includes("login refused")) ?? "{}";
  await eventually(
    async () => (JSON.parse(refused()).address === "127.0.0.55" ? true : undefined),
    "the log",
  );
});

test("when the server stops, connections through the proxy are closed with its code", async () => {
  const other = await proxyOrigin();
  const args = ["--proxy-client-ca", authority.certFile, "--allow-user", "*", "--allow-user", "server"];
  await using stopping = await proxiedServer({ origin: other, authority, args });
  const client = clientWith(await authority.issue({ subject: "/CN=ada" }));
  const socket = await client.webSocket(other);
  const closed = once(socket, "close");
  const exit = await stopping.kill("SIGTERM");
  const [code] = await withDeadline(closed, PATIENCE_MS, "the close");
  expect([code, exit]).toEqual([1001, { code: 0, signal: null }]);
});

test("while the server drains, answers through the proxy close their connections, too", async () => {
  const other = await proxyOrigin();
  const drain = ["--drain-delay", "1m", "--grace", "3m"];
  const args = ["--proxy-client-ca", authority.certFile, "--allow-user", "*", ...drain];
  await using draining = await proxiedServer({ origin: other, authority, args, asProcess: true });
  const client = clientWith(await authority.issue({ subject: "/CN=ada" }));
  const ask = () => client.ask(`${other}/api/auth/config`, { headers: { connection: "keep-alive" } });
  expect((await ask()).headers.connection).toBe("keep-alive");
  draining.signal("SIGTERM");
  await draining.logged('"draining"');
  const { status, headers } = await ask();
  expect([status, headers.connection]).toEqual([200, "close"]);
  // A second signal ends the drain.
  await draining.kill("SIGTERM");
});

test("open streams are closed when a certificate expires, and the connection serves no more requests", async () => {
  const people = new CertificateAuthority("people");
  const file = `${server.controlDir}/people.pem`;
  await writeFile(file, people.cert);
  const other = await proxyOrigin();
  await using proxied = await proxiedServer({
    ...{ origin: other, authority },
    args: ["--proxy-client-ca", file, "--allow-user", "*"],
  });
  const short = people.issue(["ada"], SHORT_S / DAY_S);
  const client = new TlsClient({
    ca: authority.cert,
    cert: new TextDecoder().decode(short.cert),
    key: new TextDecoder().decode(short.key.bytes()),
  });
  const kept = await client.raw(proxied.url);
  const socket = await client.webSocket(proxied.url);
  const [code] = await withDeadline(once(socket, "close"), PATIENCE_MS, "the close");
  expect(code).toBe(1006);
  kept.write(`GET /api/auth/config HTTP/1.1\r\nHost: localhost:${new URL(other).port}\r\n\r\n`);
  const [answer] = await withDeadline(once(kept, "data"), PATIENCE_MS, "the answer");
  expect(String(answer)).toMatch(/^HTTP\/1\.1 401 /);
  kept.destroy();
});
