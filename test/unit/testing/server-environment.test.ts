import { expect, test } from "vitest";
import { type ServerRole, serverEnvironment } from "../../../packages/testing/src/server-environment.ts";
import { envOf, type Option } from "../../../src/config/options/option.ts";
import { OPTIONS } from "../../../src/config/options/options.ts";
import { passwordOf, reveal, serve } from "../config/command-line.ts";

const login = { username: "somebody", password: "s3cret" };
const place = { name: "machine-1", url: "http://machine-1:4020", tls: undefined };

test("a server is told to be an HQ with that login", () => {
  const config = serve("", serverEnvironment({ kind: "hq", login }, place));
  expect(config.role).toMatchObject({
    kind: "hq",
    hasSessions: false,
    credentials: { username: "somebody" },
  });
  expect(passwordOf(config)).toBe("s3cret");
  expect(config.rateLimits).toEqual({ sessions: undefined, apiCalls: undefined });
});

test("a server is told to be a remote of an HQ, and lets people in by the same login", () => {
  const config = serve("", serverEnvironment({ kind: "remote", login, hqUrl: "http://hq:4020" }, place));
  expect(config.role).toMatchObject({
    ...{ kind: "remote", name: "machine-1", url: "http://machine-1:4020" },
    hq: { url: "http://hq:4020", credentials: { username: "somebody" } },
  });
  const credentials = config.role.kind === "remote" ? config.role.hq.credentials : undefined;
  expect([reveal(credentials?.password), passwordOf(config)]).toEqual(["s3cret", "s3cret"]);
});

test("a remote that is told a join token proves itself with a key of its own, which its HQ takes", () => {
  const joinToken = "a".repeat(64);
  const hq = serve("", serverEnvironment({ kind: "hq", login, joinToken }, place));
  expect(hq.role).toMatchObject({ kind: "hq", joining: { token: { name: "*" } } });
  const told = { kind: "remote", login, joinToken, hqUrl: "http://hq:4020" } as const;
  const { role } = serve("", serverEnvironment(told, place));
  const { credentials, key } = role.kind === "remote" ? role.hq : {};
  expect([credentials, reveal(key?.joinToken)]).toEqual([undefined, joinToken]);
});

test("a server of its own has a login or none", () => {
  expect(passwordOf(serve("", serverEnvironment({ kind: "standalone", login }, place)))).toBe("s3cret");
  const open = serve("--no-auth", serverEnvironment({ kind: "standalone", login: undefined }, place));
  expect(open.auth).toEqual({ mode: "none", isPasswordDisallowed: false });
});

test("every variable is one that the program reads", () => {
  const options = Object.values<Option>(OPTIONS);
  const known = new Set(options.map(envOf));
  const roles: readonly ServerRole[] = [
    { kind: "standalone", login },
    { kind: "hq", login },
    { kind: "remote", login, hqUrl: "https://hq:4020" },
    { kind: "remote", login, hqUrl: "https://hq:4020", joinToken: "b" },
  ];
  const tls = { cert: "/cert", key: "/key", ca: "/ca" };
  const told = roles.flatMap((role) => Object.entries(serverEnvironment(role, { ...place, tls })));
  expect(told.filter(([name]) => !known.has(name))).toEqual([]);
  expect(told.filter(([, value]) => value === "/ca").map(([name]) => name)).toEqual([
    "TTYHQ_HQ_CA",
    "TTYHQ_HQ_CA",
    "TTYHQ_HQ_CA",
  ]);
});
