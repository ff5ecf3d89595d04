import { expect, test } from "vitest";
import { parseConfig } from "../../../src/config/config.ts";
import { ConfigError } from "../../../src/config/config-error.ts";
import { CertificateAuthority } from "../certificate-authority.ts";
import { type Env, input, reveal } from "./command-line.ts";

const authority = new CertificateAuthority("test");
const { cert, key } = authority.issue(["localhost"]);
const files = new Map([
  ["/work/cert.pem", cert],
  ["/work/key.pem", key.bytes()],
  ["/home/me/ca.pem", authority.cert],
  ["/work/text", new TextEncoder().encode("hello")],
]);

function parse(commandLine: string, env: Env = {}) {
  const readFile = (path: string): Uint8Array => {
    const content = files.get(path);
    if (content === undefined) throw new Error(`no ${path}`);
    return content;
  };
  return parseConfig({ ...input(`--login-link ${commandLine}`, env), readFile });
}

function problems(commandLine: string, env: Env = {}): readonly string[] {
  try {
    parse(commandLine, env);
    return [];
  } catch (error) {
    if (error instanceof ConfigError) return error.problems;
    throw error;
  }
}

test("a certificate and its key make https, by flags and by variables", () => {
  for (const config of [
    parse("--tls-cert cert.pem --tls-key key.pem"),
    parse("", { TTYHQ_TLS_CERT: "/work/cert.pem", TTYHQ_TLS_KEY: "key.pem" }),
  ]) {
    expect(config.tls?.cert).toEqual(cert);
    expect(reveal(config.tls?.key)).toBe(reveal(key));
    expect(config.policy).toEqual({ allowedOrigins: [], isLoopbackHostOnly: false });
    expect(JSON.stringify(config)).not.toContain("PRIVATE KEY");
  }
  expect(parse("").tls).toBeUndefined();
});

test("--hq-ca gives an HQ and its remotes an additional authority", () => {
  for (const role of ["--hq --no-hq-auth", "--hq-url https://hq --no-hq-auth"]) {
    expect(parse(`${role} --hq-ca ~/ca.pem`).trustedCa).toEqual(authority.cert);
  }
  expect(problems("--hq-ca ~/ca.pem")).toEqual([
    "--hq-ca is for an HQ or a remote: give --hq or --hq-url, too, or leave it out",
  ]);
});

test.each<[string, Env, string]>([
  ["--tls-cert cert.pem", {}, "--tls-cert is set without --tls-key: https needs the certificate and its key"],
  [
    "",
    { TTYHQ_TLS_KEY: "key.pem" },
    "TTYHQ_TLS_KEY is set without --tls-cert: https needs the certificate and its key",
  ],
  ["--tls-cert cert.pem --tls-key none", {}, "--tls-key: cannot read the file: no /work/none"],
  [
    "--tls-cert text --tls-key key.pem",
    {},
    "--tls-cert: the file must hold certificates in PEM form, -----BEGIN CERTIFICATE-----",
  ],
  [
    "--tls-cert cert.pem --tls-key cert.pem",
    {},
    "--tls-key: the file must hold a private key in PEM form, -----BEGIN PRIVATE KEY-----",
  ],
  [
    "--hq --no-hq-auth --hq-ca text",
    {},
    "--hq-ca: the file must hold certificates in PEM form, -----BEGIN CERTIFICATE-----",
  ],
])("%s with %j is refused", (commandLine, env, sentence) => {
  expect(problems(commandLine, env)).toEqual([sentence]);
});
