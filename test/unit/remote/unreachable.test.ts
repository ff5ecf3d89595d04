import { expect, test } from "vitest";
import { unreachable } from "../../../src/remote/unreachable.ts";

const target = { url: "https://hq:4020", headers: {} };
const failure = (code: string, message = "details") => Object.assign(new Error(message), { code });

test.each([
  ["SELF_SIGNED_CERT_IN_CHAIN", "trust that authority with --hq-ca"],
  ["DEPTH_ZERO_SELF_SIGNED_CERT", "trust that authority with --hq-ca"],
  ["UNABLE_TO_VERIFY_LEAF_SIGNATURE", "trust that authority with --hq-ca"],
  ["CERT_HAS_EXPIRED", "its certificate has expired"],
  ["CERT_NOT_YET_VALID", "its certificate is not valid yet"],
  ["ERR_TLS_CERT_ALTNAME_INVALID", "its certificate is for another name"],
])("%s is explained in a sentence", (code, sentence) => {
  const cause = failure(code);
  const error = unreachable(target, "no answer", cause);
  expect(error).toMatchObject({ code: "host_unreachable", cause });
  expect(error.message).toMatch(/^no answer: https:\/\/hq:4020: /);
  expect(error.message).toContain(sentence);
});

test("any other failure keeps its message", () => {
  const cause = failure("ECONNREFUSED", "connect ECONNREFUSED 10.0.0.1:4020");
  for (const place of [target, { socketPath: "/run/host.sock" }]) {
    expect(unreachable(place, "no connection", cause).message).toBe(
      "no connection: connect ECONNREFUSED 10.0.0.1:4020",
    );
  }
});

test("a failure at all addresses of a name has the reason of each", () => {
  const causes = [
    failure("ECONNREFUSED", "connect ECONNREFUSED ::1:4020"),
    failure("ETIMEDOUT", "timed out"),
  ];
  const cause = Object.assign(new AggregateError(causes), { code: "ECONNREFUSED" });
  expect(unreachable(target, "no answer", cause).message).toBe(
    "no answer: connect ECONNREFUSED ::1:4020; timed out",
  );
});
