import * as fc from "fast-check";
import { expect, test } from "vitest";
import { type RequestHead, refuseAmbiguous } from "../../../../src/lib/net/request-head.ts";
import { ServiceError } from "../../../../src/protocol/errors.ts";

function head(headers: readonly (readonly [string, string])[], more: Partial<RequestHead> = {}): RequestHead {
  const last = Object.fromEntries(headers.map(([name, value]) => [name.toLowerCase(), value]));
  return {
    ...{ url: "/", httpVersion: "1.1", httpVersionMajor: 1, rawHeaders: headers.flat(), headers: last },
    ...more,
  };
}

const HOST = ["Host", "term.example.com:4020"] as const;

test("requests of browsers, proxies and curl are accepted", () => {
  for (const headers of [
    [HOST],
    [HOST, ["Origin", "https://term.example.com"], ["Authorization", "Bearer x"], ["Content-Length", "2"]],
    [HOST, ["Transfer-Encoding", "chunked"]],
    [["Host", "[::1]:4020"]],
    [
      ["host", "localhost"],
      ["Cookie", "a"],
      ["Cookie", "b"],
      ["Via", "1"],
      ["Via", "2"],
    ],
    [["Host", ""]],
  ] as const)
    expect(() => refuseAmbiguous(head(headers))).not.toThrow();
  for (const url of [
    "/",
    "*",
    "//x",
    "/a?b=//c",
    "http://term.example.com:4020/x",
    "HTTPS://TERM.example.com:4020?x",
  ])
    expect(() => refuseAmbiguous(head([HOST], { url }))).not.toThrow();
  expect(() => refuseAmbiguous(head([], { httpVersion: "1.0" }))).not.toThrow();
});

test.each(["Host", "Origin", "Authorization", "Content-Length", "Transfer-Encoding"])(
  "%s said twice is not, however it is spelt",
  (name) => {
    const headers = [HOST, [name, "a"], [name.toUpperCase(), "a"]] as const;
    expect(() => refuseAmbiguous(head(headers))).toThrow(`${name.toLowerCase()} came twice`);
  },
);

test("neither is another host, scheme or user in the address", () => {
  for (const url of [
    "http://evil.example/",
    "http://",
    "ftp://term.example.com:4020/",
    "x",
    "",
    "http://a@term.example.com:4020/",
    "term.example.com:4020",
  ])
    expect([url, () => refuseAmbiguous(head([HOST], { url }))]).toEqual([url, expect.toSatisfy(throws)]);
});

test("any head is accepted or refused, without another error", async () => {
  const text = fc.oneof(
    fc.string(),
    fc.constantFrom("host", "HOST", "content-length", "chunked", "localhost", "http://x"),
  );
  await fc.assert(
    fc.property(
      fc.array(fc.tuple(text, text)),
      text,
      fc.constantFrom("1.1", "1.0", "0.9"),
      (headers, url, httpVersion) => {
        try {
          refuseAmbiguous(head(headers, { url, httpVersion, httpVersionMajor: Number(httpVersion[0]) }));
        } catch (error) {
          expect(error).toBeInstanceOf(ServiceError);
        }
      },
    ),
  );
});

function throws(work: () => void): boolean {
  try {
    work();
    return false;
  } catch (error) {
    return error instanceof ServiceError && error.code === "invalid_request";
  }
}
