import { expect, test } from "vitest";
import { factsOf } from "../../../src/http/caller-credentials.ts";

const where = { queryToken: undefined, address: "192.0.2.1", place: "api" } as const;

function facts(headers: Record<string, string | string[]>, httpVersion = "1.1") {
  return factsOf({ headers, httpVersion, socket: { remoteAddress: "127.0.0.1" } }, where);
}

test("the peer is who is at the other end, whatever address the request is counted under", () => {
  expect(facts({ host: "localhost" })).toMatchObject({
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
  expect(facts({ [name]: "" }).isForwarded).toBe(true);
});

test("one with none of them did not, unless it speaks as nginx does to servers", () => {
  expect(facts({ host: "localhost", "x-requested-with": "x", origin: "http://localhost" }).isForwarded).toBe(
    false,
  );
  expect(facts({ host: "localhost" }, "1.0").isForwarded).toBe(true);
});

test("names are UTF-8, or else Latin-1", () => {
  const latin1 = (text: string) => Buffer.from(text, "utf8").toString("latin1");
  expect(facts({ "proxy-user-login": latin1("zoë") }).identity?.login).toBe("zoë");
  expect(facts({ "proxy-user-login": "zo\xeb" }).identity?.login).toBe("zoë");
  expect(facts({ "proxy-user-name": latin1("Ω") }).identity).toEqual({
    login: undefined,
    name: "Ω",
    picture: undefined,
  });
});

test("without any of the three headers nobody is named, and a header that came twice names nobody that could log in", () => {
  expect(facts({ "proxy-user": "ada", proxy_user_login: "ada" }).identity).toBeUndefined();
  expect(facts({ "proxy-user-login": ["ada", "root"] }).identity?.login).toBe("ada, root");
});

test("for whom an HQ asks is somebody, however that is written", () => {
  const asked = (name: string) => facts({ "ttyhq-on-behalf-of": name }).onBehalfOf;
  expect(["ada", "ada%40example.com", "%", "%zz", ""].map(asked)).toEqual([
    ...["ada", "ada@example.com", "%", "%zz", ""],
  ]);
  expect(facts({}).onBehalfOf).toBeUndefined();
});
