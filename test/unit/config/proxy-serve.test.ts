import { expect, test } from "vitest";
import { parseConfig } from "../../../src/config/config.ts";
import { ConfigError } from "../../../src/config/config-error.ts";
import { CertificateAuthority } from "../certificate-authority.ts";
import { input, reveal } from "./command-line.ts";

const authority = new CertificateAuthority("test");
const { cert, key } = authority.issue(["localhost"]);
const FILES = new Map([
  ["/work/cert", cert],
  ["/work/key", key.bytes()],
  ["/work/people", authority.cert],
  ["/work/secret", new TextEncoder().encode("client secret\n")],
  ["/work/text", new TextEncoder().encode("hello")],
]);
const TLS = "--tls-cert cert --tls-key key";
const OIDC =
  "--proxy-oidc-issuer https://id.example.com/realm --proxy-oidc-client-id ttyhq --proxy-oidc-client-secret-file secret";

function parse(commandLine: string) {
  const readFile = (path: string): Uint8Array => {
    const content = FILES.get(path);
    if (content === undefined) throw new Error(`no ${path}`);
    return content;
  };
  return parseConfig({ ...input(commandLine), readFile });
}

function problems(commandLine: string): readonly string[] {
  try {
    parse(commandLine);
    return [];
  } catch (error) {
    if (error instanceof ConfigError) return error.problems;
    throw error;
  }
}

test("the proxy has the certificate; the server listens on 127.0.0.1 without one", () => {
  const config = parse(`--enable-proxy-serve ${TLS} --proxy-client-ca people`);
  expect(config).toMatchObject({ tls: undefined, listen: { host: "127.0.0.1" } });
  expect(config.proxyServe).toEqual({
    ...{ listen: { host: "0.0.0.0", port: 4443 }, url: undefined, oidc: undefined },
    ...{ clientCa: authority.cert, tls: { cert, key: expect.anything() } },
  });
});

test("a provider has the client's id, its secret and the origin for redirects", () => {
  const { proxyServe } = parse(
    `--enable-proxy-serve ${TLS} ${OIDC} --proxy-listen [::1]:8443 --proxy-url https://Term.Example.com:443/`,
  );
  expect(proxyServe).toMatchObject({
    ...{ listen: { host: "::1", port: 8443 }, url: "https://term.example.com", clientCa: undefined },
    oidc: { issuer: "https://id.example.com/realm", clientId: "ttyhq", scope: "openid profile email" },
  });
  expect(reveal(proxyServe?.oidc?.clientSecret)).toBe("client secret");
  expect(JSON.stringify(proxyServe)).not.toContain("client secret");
});

test("claims are required by name and value, and users named by issuer and subject", () => {
  const { proxyServe, auth } = parse(
    `--enable-proxy-serve ${TLS} ${OIDC} --proxy-oidc-require hd=a.example --proxy-oidc-require hd=b.example --proxy-oidc-require tid=x=y --proxy-oidc-claim upn --allow-user https://id.example.com/realm#auth0|17`,
  );
  expect(proxyServe?.oidc?.nameClaim).toBe("upn");
  expect([...(proxyServe?.oidc?.required ?? [])]).toEqual([
    ["hd", ["a.example", "b.example"]],
    ["tid", ["x=y"]],
  ]);
  expect(auth).toMatchObject({ allowUsers: ["https://id.example.com/realm#auth0|17"] });
});

test("certificates and a provider may be combined, and a provider on loopback may use http", () => {
  const local = OIDC.replace("https://id.example.com/realm", "http://127.0.0.1:8080");
  const { proxyServe } = parse(`--enable-proxy-serve ${TLS} ${local} --proxy-client-ca people`);
  expect([proxyServe?.clientCa !== undefined, proxyServe?.oidc?.issuer]).toEqual([
    true,
    "http://127.0.0.1:8080",
  ]);
});

test.each([
  ["--enable-proxy-serve --proxy-client-ca people", "give --tls-cert and --tls-key"],
  [`--enable-proxy-serve ${TLS}`, "needs to know how people prove who they are"],
  [
    `--enable-proxy-serve ${TLS} --proxy-client-ca text`,
    "--proxy-client-ca: the file must hold certificates",
  ],
  [
    `--enable-proxy-serve ${TLS} --proxy-oidc-issuer https://id.example.com`,
    "OpenID Connect needs all three",
  ],
  [`--enable-proxy-serve ${TLS} ${OIDC} --proxy-oidc-scope profile`, "openid among them"],
  [
    `--enable-proxy-serve ${TLS} ${OIDC} --proxy-url http://term.example.com`,
    "--proxy-url: must be https://",
  ],
  [
    `--enable-proxy-serve ${TLS} ${OIDC} --proxy-url https://term.example.com/path`,
    "--proxy-url: must be https://",
  ],
  [
    `--enable-proxy-serve ${TLS} ${OIDC} --proxy-listen 4443`,
    "--proxy-listen: must be an address and a port",
  ],
  [
    `--enable-proxy-serve ${TLS} ${OIDC} --proxy-oidc-require hd`,
    "--proxy-oidc-require: must be claim=value",
  ],
  [
    `--enable-proxy-serve ${TLS} ${OIDC} --allow-user https://id.example.com`,
    "--allow-user: must be one user name, or https://issuer#subject",
  ],
  ["--role ada", "--role: must be user=role or %group=role"],
  ["--role ada=king", "--role: must be user=role or %group=role"],
  ["--role =user", "--role: must be user=role or %group=role"],
  [OIDC, "--proxy-oidc-issuer is for the proxy that --enable-proxy-serve starts"],
  [`--enable-proxy-serve --proxy-external --proxy-client-ca people`, "--proxy-client-ca is for the proxy"],
  ["--trusted-proxy 10.0.0.0/33", "--trusted-proxy: must be an address or a range of addresses"],
])("%s is refused: %s", (commandLine, sentence) => {
  expect(problems(commandLine)).toContainEqual(expect.stringContaining(sentence));
});

test.each([
  ["--proxy-oidc-scope", "openid"],
  ["--proxy-oidc-claim", "upn"],
  ["--proxy-oidc-groups", "groups"],
  ["--proxy-oidc-require", "hd=example.com"],
])("%s is refused without a provider", (option, text) => {
  expect(problems(`--enable-proxy-serve ${TLS} --proxy-client-ca people ${option} ${text}`)).toEqual([
    `${option} is for the provider of --proxy-oidc-issuer: give that, too, or leave it out`,
  ]);
});

test.each([
  "http://id.example.com",
  "http://127.0.0.1.evil.example",
  "ftp://id.example.com",
  "id.example.com",
  "https://id.example.com/?a=b",
  "https://id.example.com/#a",
  "https://user@id.example.com",
])("%s is not a provider", (issuer) => {
  const oidc = OIDC.replace("https://id.example.com/realm", issuer);
  expect(problems(`--enable-proxy-serve ${TLS} ${oidc}`)).toContainEqual(
    expect.stringContaining("must be the https url of a provider"),
  );
});

test("trusted proxies are addresses and ranges", () => {
  const { trustedProxies } = parse(
    "--trusted-proxy 10.0.0.0/8 --trusted-proxy fd00::/8 --trusted-proxy 127.0.0.1",
  );
  expect(trustedProxies).toEqual([
    { address: "10.0.0.0", prefix: 8 },
    { address: "fd00::", prefix: 8 },
    { address: "127.0.0.1", prefix: 32 },
  ]);
});
