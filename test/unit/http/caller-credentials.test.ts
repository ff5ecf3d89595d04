import { expect, test } from "vitest";
import { claimsOf } from "../../../src/http/caller-credentials.ts";

const where = { queryToken: undefined, address: "192.0.2.1", place: "api" } as const;

function claims(headers: Record<string, string | string[]>, httpVersion = "1.1") {
  return claimsOf({ headers, httpVersion, socket: { remoteAddress: "127.0.0.1" } }, where);
}

test("the peer is the other end of the connection, whatever the client's address is", () => {
  expect(claims({ host: "localhost" })).toMatchObject({
    peer: "127.0.0.1",
    address: "192.0.2.1",
    host: "localhost",
  });
});

test.each([
  ...["forwarded", "via", "x-forwarded-for", "x-forwarded-host", "x-forwarded-proto", "x-forwarded-port"],
  ...["x-forwarded-server", "x-forwarded", "x-real-ip", "x-client-ip", "cf-connecting-ip", "true-client-ip"],
  ...[
    "tailscale-user-login",
    "x-envoy-external-address",
    "cdn-loop",
    "x-original-forwarded-for",
    "fly-client-ip",
  ],
])("a request with the header %s came through a proxy", (name) => {
  expect(claims({ [name]: "" }).isForwarded).toBe(true);
});

test("one with none of them did not, unless it speaks as nginx does to servers", () => {
  expect(claims({ host: "localhost", "x-requested-with": "x", origin: "http://localhost" }).isForwarded).toBe(
    false,
  );
  expect(claims({ host: "localhost" }, "1.0").isForwarded).toBe(true);
});

test("names are UTF-8, or else Latin-1", () => {
  const latin1 = (text: string) => Buffer.from(text, "utf8").toString("latin1");
  expect(claims({ "proxy-user-login": latin1("zoë") }).identity?.login).toBe("zoë");
  expect(claims({ "proxy-user-login": "zo\xeb" }).identity?.login).toBe("zoë");
  expect(claims({ "proxy-user-name": latin1("Ω") }).identity).toEqual({
    login: undefined,
    name: "Ω",
    picture: undefined,
  });
});

test("without any of the three headers there is no identity, and a repeated header names no valid user", () => {
  expect(claims({ "proxy-user": "ada", proxy_user_login: "ada" }).identity).toBeUndefined();
  expect(claims({ "proxy-user-login": ["ada", "root"] }).identity?.login).toBe("ada, root");
});

test("a malformed name of an HQ's user is still a name", () => {
  const asked = (name: string) => claims({ "ttyhq-on-behalf-of": name }).onBehalfOf;
  expect(["ada", "ada%40example.com", "%", "%zz", ""].map(asked)).toEqual([
    ...["ada", "ada@example.com", "%", "%zz", ""],
  ]);
  expect(claims({}).onBehalfOf).toBeUndefined();
});
