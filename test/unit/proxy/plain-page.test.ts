import { createServer, type ServerResponse } from "node:http";
import { duplexPair } from "node:stream";
import { text } from "node:stream/consumers";
import { expect, test } from "vitest";
import { ServiceError } from "../../../src/protocol/errors.ts";
import { isNavigation, redirect, sendPage, sendRefusal } from "../../../src/proxy/plain-page.ts";

/** The bytes that a browser receives. */
async function sent(send: (response: ServerResponse) => void): Promise<string> {
  const [client, connection] = duplexPair();
  const server = createServer((_, response) => send(response));
  server.emit("connection", connection);
  client.end("GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
  return await text(client);
}

test("texts of a page are escaped", async () => {
  const odd = `<script>alert(1)</script>"'&`;
  const page = await sent((response) =>
    sendPage(response, {
      status: 200,
      title: odd,
      text: odd,
      action: { kind: "link", to: odd, text: odd },
    }),
  );
  expect(page).not.toContain("<script>");
  expect(page).toContain("&lt;script&gt;alert(1)&lt;/script&gt;&quot;&#39;&amp;");
  expect(page).toMatch(/content-security-policy: default-src 'none'; .*form-action 'self'\r\n/);
  expect(page).toMatch(/cache-control: no-store/);
});

test("a button is a form that may redirect to the given origins", async () => {
  const action = { kind: "button", to: "/.proxy/logout", text: "Log out" } as const;
  const page = await sent((response) =>
    sendPage(response, { status: 200, title: "x", text: "", action, leadsTo: ["https:"] }),
  );
  expect(page).toContain('<form method="post" action="/.proxy/logout"><button>Log out</button></form>');
  expect(page).toContain("form-action 'self' https:");
  // Makes the browser send the button's origin.
  expect(page).toContain("referrer-policy: same-origin");
});

test("a redirect is not cached", async () => {
  const answer = await sent((response) => redirect(response, "/a"));
  expect(answer).toMatch(/^HTTP\/1\.1 303 .*\r\nlocation: \/a\r\n/s);
  expect(answer).toContain("cache-control: no-store");
});

test("a refusal is a sentence with a link; internal errors are not revealed", async () => {
  const refusal = await sent((response) =>
    sendRefusal(response, new ServiceError("login_refused", "no, because")),
  );
  expect(refusal).toMatch(/^HTTP\/1\.1 403 .*<p>No, because\.<\/p>.*Try again/s);
  const fault = await sent((response) => sendRefusal(response, new Error("a secret")));
  expect(fault).toMatch(/^HTTP\/1\.1 500 /);
  expect(fault).not.toContain("a secret");
});

test.each([
  ["GET", { accept: "text/html,*/*" }, true],
  ["GET", { accept: "text/html", "sec-fetch-mode": "navigate" }, true],
  ["GET", { accept: "text/html", "sec-fetch-mode": "cors" }, false],
  ["GET", { accept: "*/*" }, false],
  ["GET", {}, false],
  ["POST", { accept: "text/html" }, false],
])("%s with %j is a navigation: %s", (method, headers, isIt) => {
  expect(isNavigation({ method, headers })).toBe(isIt);
});
