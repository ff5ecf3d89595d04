// HTTPS between our own processes: the listener, the sender and the link, over real connections (contract 6.9).
import { once } from "node:events";
import { createServer, type RequestListener } from "node:http";
import { connect as connectTcp } from "node:net";
import { connect, getCACertificates, setDefaultCACertificates } from "node:tls";
import { expect, test } from "vitest";
import { withDeadline } from "../../src/lib/async/deadline.ts";
import type { Link } from "../../src/protocol/client/link.ts";
import { createSender } from "../../src/remote/send.ts";
import { openLink, type UplinkTarget } from "../../src/remote/uplink.ts";
import { CertificateAuthority, type Identity } from "../unit/certificate-authority.ts";
import { serveHub } from "./harness/hub-server.ts";
import { PATIENCE_MS } from "./harness/patience.ts";

const authority = new CertificateAuthority("private authority");
const ca = authority.cert;
const identity = authority.issue(["127.0.0.1", "localhost"]);
const hello: RequestListener = (request, response) => response.end(`hello ${request.headers.authorization}`);

const serve = (tls?: Identity, request = hello, host?: string) =>
  serveHub({ tls, request, ...(host === undefined ? {} : { host }) });

type Origin = { readonly url: string; readonly ca?: Uint8Array };
const headers = { authorization: "Bearer x" };

async function get(origin: Origin): Promise<{ readonly status: number; readonly text: string }> {
  using sender = createSender({ ...origin, headers });
  const signal = AbortSignal.timeout(PATIENCE_MS);
  const response = await sender.send({ method: "GET", path: "/", headers: {}, body: undefined, signal });
  const chunks = await Array.fromAsync(response.body);
  return { status: response.status, text: Buffer.concat(chunks).toString() };
}

async function link(target: UplinkTarget): Promise<Link> {
  const handlers = { onMessage: () => {}, onClose: () => {} };
  return await openLink(target, handlers, AbortSignal.timeout(PATIENCE_MS));
}

/** The errors of a request and a link. */
async function refusals(origin: Origin): Promise<readonly string[]> {
  const failures = [get(origin), link({ ...origin, headers })].map((work) =>
    work.then(
      () => "no failure",
      (error) => `${error.code} ${error.message}`,
    ),
  );
  return await Promise.all(failures);
}

test("requests and links go over TLS to a server whose authority is trusted", async () => {
  await using server = await serve(identity);
  for (const url of [server.url, server.url.replace("127.0.0.1", "localhost")]) {
    expect(await get({ url, ca })).toEqual({ status: 200, text: "hello Bearer x" });
    (await link({ url, ca, headers })).close();
  }
});

test("an authority of one's own is trusted beside Node's own, not in their place", async () => {
  const other = new CertificateAuthority("other authority");
  await using server = await serve(other.issue(["127.0.0.1"]));
  const before = await refusals({ url: server.url, ca });
  expect(before.every((refusal) => refusal.includes("--hq-ca"))).toBe(true);
  const known = getCACertificates("default");
  using _known = { [Symbol.dispose]: () => setDefaultCACertificates(known) };
  setDefaultCACertificates([Buffer.from(other.cert)]);
  const again = ca.slice();
  expect((await get({ url: server.url, ca: again })).status).toBe(200);
  await using own = await serve(identity);
  expect((await get({ url: own.url, ca: again })).status).toBe(200);
});

test("an untrusted authority is reported with the solution", async () => {
  await using server = await serve(identity);
  const stranger = new CertificateAuthority("stranger").cert;
  const reason = `${server.url}: its certificate is signed by an unknown authority: trust that authority with --hq-ca, or for every program with NODE_EXTRA_CA_CERTS`;
  for (const target of [{ url: server.url }, { url: server.url, ca: stranger }]) {
    expect(await refusals(target)).toEqual([
      `host_unreachable no answer: ${reason}`,
      `host_unreachable no connection: ${reason}`,
    ]);
  }
});

test.each([
  ["for another name", authority.issue(["hq.example.com"]), "its certificate is for another name"],
  ["that has expired", authority.issue(["127.0.0.1"], -1), "its certificate has expired: renew it"],
])("a certificate %s is told as such", async (_, wrong, reason) => {
  await using server = await serve(wrong);
  for (const refusal of await refusals({ url: server.url, ca })) {
    expect(refusal).toMatch(/^host_unreachable no (answer|connection): https:/);
    expect(refusal).toContain(reason);
  }
});

test("https to a server of http is told as such, and http to one of https gets no answer", async () => {
  await using plain = await serve();
  for (const refusal of await refusals({ url: plain.url.replace("http:", "https:"), ca })) {
    expect(refusal).toContain("it does not serve https");
  }
  await using server = await serve(identity);
  for (const refusal of await refusals({ url: server.url.replace("https:", "http:") })) {
    expect(refusal).toMatch(/^host_unreachable no (answer|connection): /);
  }
  expect((await get({ url: server.url, ca })).status).toBe(200);
});

test("redirects are not followed, so no credential is sent elsewhere", async () => {
  let visits = 0;
  await using elsewhere = await serve(undefined, (_, response) => {
    visits += 1;
    response.end();
  });
  const server = createServer((_, response) => response.writeHead(307, { location: elsewhere.url }).end());
  server.on("upgrade", (_, socket) => {
    socket.end(`HTTP/1.1 302 Found\r\nLocation: ${elsewhere.url}/ws\r\nContent-Length: 0\r\n\r\n`);
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  const url = `http://127.0.0.1:${typeof address === "object" ? address?.port : ""}`;
  expect((await get({ url })).status).toBe(307);
  await expect(link({ url, headers })).rejects.toMatchObject({
    code: "host_unreachable",
    message: "the server answered with status 302",
  });
  expect(visits).toBe(0);
  server.close();
});

test.each([
  ["TLSv1.1", "TLSv1", false],
  ["TLSv1.2", "TLSv1.2", true],
  ["TLSv1.3", "TLSv1.3", true],
] as const)("a client of %s: %s to it, is let in: %s", async (maxVersion, minVersion, isLetIn) => {
  await using server = await serve(identity);
  const socket = connect({
    ...{ host: "127.0.0.1", port: server.port, ca: Buffer.from(ca), maxVersion, minVersion },
    ciphers: "DEFAULT@SECLEVEL=0",
  });
  const shaken = once(socket, "secureConnect").then(
    () => true,
    () => false,
  );
  expect(await withDeadline(shaken, PATIENCE_MS, "the handshake")).toBe(isLetIn);
  socket.destroy();
});

test("a broken handshake costs a connection, not the server", async () => {
  await using server = await serve(identity);
  for (const garbage of ["GET / HTTP/1.1\r\nHost: x\r\n\r\n", "\x16\x03\x01\xff\xff", "\0".repeat(100)]) {
    const socket = connectTcp(server.port, "127.0.0.1");
    socket.on("error", () => {});
    socket.resume().end(garbage);
    await withDeadline(once(socket, "close"), PATIENCE_MS, "the end of the connection");
  }
  expect((await get({ url: server.url, ca })).status).toBe(200);
});

test("a key that is not the certificate's, or nothing of the kind, ends the start with a sentence", async () => {
  const { key } = authority.issue(["127.0.0.1"]);
  await expect(serve({ cert: identity.cert, key })).rejects.toMatchObject({
    code: "start_failed",
    message: "cannot serve https: the key of --tls-key is not that of the certificate of --tls-cert",
  });
  await expect(serve({ cert: new Uint8Array([1, 2, 3]), key })).rejects.toMatchObject({
    code: "start_failed",
    message: expect.stringContaining("cannot serve https: --tls-cert or --tls-key holds nothing"),
  });
});

test("an address of IPv6 is asked as any other", async () => {
  await using server = await serve(undefined, hello, "::1");
  expect(await get({ url: server.url })).toEqual({ status: 200, text: "hello Bearer x" });
  (await link({ url: server.url, headers })).close();
});
