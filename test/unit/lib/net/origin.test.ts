import * as fc from "fast-check";
import { expect, test } from "vitest";
import { formatOrigin, isOriginOf, parseHost, parseOrigin } from "../../../../src/lib/net/origin.ts";

test.each([
  ["localhost:4020", { name: "localhost", port: 4020 }],
  ["Term.Example.COM", { name: "term.example.com", port: undefined }],
  ["[::1]:80", { name: "::1", port: 80 }],
  ["10.0.0.1:65535", { name: "10.0.0.1", port: 65_535 }],
])("%s is a host", (text, host) => expect(parseHost(text)).toEqual(host));

test.each([
  "",
  ":80",
  "a:0",
  "a:65536",
  "a:",
  "a b",
  "a/b",
  "u@a",
  "[::1",
  "[zz]",
  "[1.2.3.4]",
  "::1",
  "a\n",
  "é.com",
  "a,b",
])("%j is no host", (text) => expect(parseHost(text)).toBeUndefined());

test.each([
  "null",
  "",
  "http://",
  "http://a/",
  "http://a/b",
  "http://a?b",
  "http://u@a",
  "//a",
  "http:a",
  "http://a, http://b",
  "http://a http://b",
])("%j is no origin", (text) => expect(parseOrigin(text)).toBeUndefined());

test("an origin is spelt one way: lower case, no default port", () => {
  const spell = (text: string): string =>
    formatOrigin(parseOrigin(text) ?? { scheme: "?", host: { name: "", port: 0 } });
  expect(spell("HTTPS://A.example:443")).toBe("https://a.example");
  expect(spell("http://a.example:443")).toBe("http://a.example:443");
  expect(spell("http://[::1]:4020")).toBe("http://[::1]:4020");
});

/** Whether a page at `origin` was served by the host of this Host header. */
function belongs(origin: string, host: string): boolean {
  const [page, server] = [parseOrigin(origin), parseHost(host)];
  return page !== undefined && server !== undefined && isOriginOf(page, server);
}

test.each([
  ["http://a:4020", "a:4020"],
  ["https://a:4020", "a:4020"],
  ["http://a", "a"],
  ["http://a", "a:80"],
  ["https://a", "a:443"],
  ["https://a:443", "a"],
  ["https://A", "a"],
])("%s belongs to host %s", (origin, host) => expect(belongs(origin, host)).toBe(true));

test.each([
  ["http://a:4021", "a:4020"],
  ["http://a", "a:443"],
  ["https://a", "a:80"],
  ["http://b:4020", "a:4020"],
  ["http://a.b:4020", "b:4020"],
  ["ftp://a:4020", "a:4020"],
  ["constructor://a", "a"],
  ["chrome-extension://a", "a"],
])("%s does not belong to host %s", (origin, host) => expect(belongs(origin, host)).toBe(false));

test("parsing never throws, and what it accepts survives being spelt and parsed again", () => {
  const bits = fc.constantFrom(
    "http",
    "https",
    "://",
    ":",
    "[",
    "]",
    "::1",
    "a",
    ".",
    "-",
    "80",
    "443",
    "0",
    "@",
    "/",
    "null",
    " ",
    "\0",
    "%",
  );
  const text = fc.oneof(
    fc.string(),
    fc.string({ unit: "binary" }),
    fc.array(bits, { maxLength: 12 }).map((all) => all.join("")),
  );
  return fc.assert(
    fc.property(text, text, (origin, host) => {
      parseHost(host);
      const parsed = parseOrigin(origin);
      if (parsed === undefined) return;
      const spelling = formatOrigin(parsed);
      expect(formatOrigin(parseOrigin(spelling) ?? parsed)).toBe(spelling);
      expect(spelling).toMatch(/^[a-z][a-z0-9+.-]*:\/\/[a-z0-9_.[\]:-]+$/);
    }),
    { numRuns: 20_000 },
  );
});

test("a browser's own idea of an origin is the same for every origin it would send", () => {
  const url = fc.webUrl({
    withFragments: false,
    withQueryParameters: false,
    validSchemes: ["http", "https"],
  });
  return fc.assert(
    fc.property(url, (text) => {
      const { origin, host } = new URL(text);
      expect(formatOrigin(parseOrigin(origin) ?? { scheme: "?", host: { name: "", port: 0 } })).toBe(origin);
      expect(belongs(origin, host)).toBe(true);
    }),
  );
});
