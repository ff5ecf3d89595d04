import * as fc from "fast-check";
import { expect, test } from "vitest";
import { enforcePolicy, type PolicyRequest, type RequestPolicy } from "../../../src/auth/policy.ts";
import { ServiceError } from "../../../src/protocol/errors.ts";

const OPEN = { allowedOrigins: ["https://term.example.com"], isLoopbackHostOnly: false };
const LOOPBACK = { allowedOrigins: [], isLoopbackHostOnly: true };

function code(
  policy: RequestPolicy,
  { isHttps = false, ...fields }: Partial<PolicyRequest> & { readonly isHttps?: boolean },
): string {
  const sent = { method: "POST", isUpgrade: false, host: "host:4020", origin: undefined, ...fields };
  const request = { asked: { host: sent.host, isHttps }, ...sent };
  try {
    enforcePolicy(policy, request);
    return "let in";
  } catch (error) {
    return error instanceof ServiceError ? error.code : String(error);
  }
}

test.each([
  "http://host:4020",
  "https://host:4020",
  undefined,
  "https://term.example.com",
  "https://term.example.com:443",
])("a change from origin %s is allowed", (origin) => expect(code(OPEN, { origin })).toBe("let in"));

test.each([
  "null",
  "",
  "http://host",
  "http://host:4021",
  "https://evil.example",
  "http://term.example.com",
  "https://term.example.com.evil.example",
  "https://host:4020@evil.example",
  "http://host:4020, http://evil.example",
  "file://",
  "*",
])("a change from origin %j is refused", (origin) =>
  expect(code(OPEN, { origin })).toBe("origin_not_allowed"),
);

test.each([
  ["https://host:4020", "host:4020", "let in"],
  ["https://host", "host", "let in"],
  ["https://term.example.com", "host", "let in"],
  ["http://host:4020", "host:4020", "origin_not_allowed"],
  ["http://host", "host", "origin_not_allowed"],
  ["https://evil.example", "host", "origin_not_allowed"],
])("on a server with TLS a page of %s at %s is: %s", (origin, host, answer) => {
  expect(code(OPEN, { origin, host, isHttps: true })).toBe(answer);
});

test.each(["POST", "PUT", "PATCH", "DELETE", "post", "TRACE", "PROPFIND"])("%s is a change", (method) => {
  expect(code(OPEN, { method, origin: "https://evil.example" })).toBe("origin_not_allowed");
});

test.each(["GET", "HEAD", "OPTIONS"])(
  "%s is not a change; browsers hide its answer from foreign pages",
  (method) => {
    expect(code(OPEN, { method, origin: "https://evil.example" })).toBe("let in");
  },
);

test("a WebSocket handshake is a change although it is a GET", () => {
  expect(code(OPEN, { method: "GET", isUpgrade: true, origin: "https://evil.example" })).toBe(
    "origin_not_allowed",
  );
  expect(code(OPEN, { method: "GET", isUpgrade: true, origin: "null" })).toBe("origin_not_allowed");
  expect(code(OPEN, { method: "GET", isUpgrade: true, origin: "http://host:4020" })).toBe("let in");
  expect(code(OPEN, { method: "GET", isUpgrade: true })).toBe("let in");
});

test("without a Host header no origin counts as the server's own", () => {
  expect(code(OPEN, { host: undefined, origin: "http://host:4020" })).toBe("origin_not_allowed");
});

test.each([
  "localhost",
  "localhost:4020",
  "LOCALHOST:1",
  "app.localhost:80",
  "127.0.0.1:4020",
  "127.9.9.9",
  "[::1]:4020",
  "[::1]",
])("without login on loopback the host may be %s", (host) =>
  expect(code(LOOPBACK, { host, method: "GET" })).toBe("let in"),
);

test.each([
  undefined,
  "",
  "evil.example",
  "evil.example:4020",
  "127.0.0.1.evil.example",
  "localhost.evil.example",
  "localhost@evil.example",
  "10.0.0.1",
  "[::2]",
  "0.0.0.0:4020",
  "127.1",
  "2130706433",
  "localhost, evil.example",
])("without login on loopback the host may not be %j, for any method", (host) => {
  for (const method of ["GET", "POST", "OPTIONS"])
    expect(code(LOOPBACK, { host, method })).toBe("host_not_allowed");
});

test("DNS rebinding to loopback is refused although host and origin agree", () => {
  const request = { host: "evil.example:4020", origin: "http://evil.example:4020" };
  expect(code(LOOPBACK, request)).toBe("host_not_allowed");
});

const bits = fc.constantFrom(
  "http://",
  "https://",
  "host",
  ":4020",
  "evil",
  ".",
  "@",
  "/",
  "null",
  "localhost",
  "127.0.0.1",
  "[::1]",
  "\t",
  "%00",
  "#",
  "?",
  ",",
  " ",
);
const text = fc.oneof(
  fc.string({ unit: "binary" }),
  fc.array(bits, { maxLength: 8 }).map((all) => all.join("")),
);

test("no foreign origin is allowed, and every failure is a ServiceError", () =>
  fc.assert(
    fc.property(text, (origin) => {
      const isOwn = ["http://host:4020", "https://host:4020", "https://term.example.com"].includes(origin);
      expect(code(OPEN, { origin })).toBe(isOwn ? "let in" : "origin_not_allowed");
    }),
    { numRuns: 20_000 },
  ));

test("every host that is allowed on loopback is loopback for a browser as well", () =>
  fc.assert(
    fc.property(text, (host) => {
      const answer = code(LOOPBACK, { host, method: "GET" });
      expect(["let in", "host_not_allowed"]).toContain(answer);
      if (answer === "let in") {
        const { hostname } = new URL(`http://${host}/`);
        expect(hostname).toMatch(/^(\[::1\]|(.+\.)?localhost|127\.\d+\.\d+\.\d+)$/);
      }
    }),
    { numRuns: 20_000 },
  ));
