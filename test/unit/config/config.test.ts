import { expect, test } from "vitest";
import { parseHostConfig } from "../../../src/config/config.ts";
import { type Env, input, passwordOf, problems, reveal, serve } from "./command-line.ts";

test("the defaults are those of the specification", () => {
  expect(serve("--login-link")).toEqual({
    listen: { host: "0.0.0.0", port: 4020 },
    controlDir: "/home/me/.ttyhq",
    hostFlags: ["--control-dir", "/home/me/.ttyhq"],
    serverUser: "me",
    auth: {
      mode: "login",
      password: { kind: "system" },
      ...{ requireSecondFactor: false, sshKeys: false, loginLink: true },
      ...{ allowUsers: [], adminUsers: [], roles: [] },
      ...{ identity: undefined, localBypass: undefined },
    },
    role: { kind: "standalone" },
    tls: undefined,
    proxyServe: undefined,
    trustedProxies: [],
    metricsListen: undefined,
    canary: false,
    auditLog: undefined,
    auditShipping: { to: [], headers: undefined },
    trustedCa: undefined,
    tokenSecret: undefined,
    policy: { allowedOrigins: [], isLoopbackHostOnly: false },
    rateLimits: { sessions: 10, apiCalls: 100 },
    recording: { maxBytes: 268_435_456, withInput: false, keep: undefined },
    graceMs: 20_000,
    maxUploadBytes: 100 * 1024 * 1024,
    drainDelayMs: 0,
    sessionHost: "apart",
    log: { level: "info", format: "auto" },
    warnings: [],
  });
});

test("every option can be given as a flag", () => {
  const config = serve(
    "--port 0 --bind [::1] --control-dir /var/lib/t --no-auth --allowed-origin https://A.example:443 --allowed-origin http://b:81 " +
      "--rate-limit-sessions 0 --rate-limit-api 7 --max-recording-size 1GiB --record-input --session-host inline --debug " +
      "--log-format json --jwt-secret-file jwt --login-link --allow-user ada",
  );
  expect(config).toMatchObject({
    listen: { host: "::1", port: 0 },
    controlDir: "/var/lib/t",
    auth: { mode: "none", isPasswordDisallowed: false },
    policy: { allowedOrigins: ["https://a.example", "http://b:81"], isLoopbackHostOnly: true },
    rateLimits: { sessions: undefined, apiCalls: 7 },
    recording: { maxBytes: 2 ** 30, withInput: true },
    sessionHost: "inline",
    log: { level: "debug", format: "json" },
  });
  expect(reveal(config.tokenSecret)).toBe("j".repeat(32));
});

test("every option can be given as a variable", () => {
  const env = {
    TTYHQ_PORT: "81",
    TTYHQ_BIND: "localhost",
    TTYHQ_CONTROL_DIR: "~/t",
    TTYHQ_NO_AUTH: "true",
    TTYHQ_ALLOWED_ORIGIN: "https://a.example, http://b:81",
    TTYHQ_RATE_LIMIT_SESSIONS: "0",
    TTYHQ_MAX_RECORDING_SIZE: "10 MB",
    TTYHQ_RECORD_INPUT: "yes",
    TTYHQ_SESSION_HOST: "inline",
    TTYHQ_DEBUG: "1",
    TTYHQ_JWT_SECRET: "j".repeat(32),
  };
  const config = serve("", env);
  expect(config).toMatchObject({
    listen: { host: "localhost", port: 81 },
    controlDir: "/home/me/t",
    auth: { mode: "none", isPasswordDisallowed: false },
    policy: { allowedOrigins: ["https://a.example", "http://b:81"], isLoopbackHostOnly: true },
    rateLimits: { sessions: undefined, apiCalls: 100 },
    recording: { maxBytes: 10_000_000, withInput: true },
    sessionHost: "inline",
    log: { level: "debug" },
  });
  expect(reveal(config.tokenSecret)).toBe("j".repeat(32));
});

test("a flag overrides a variable, and an empty variable counts as unset", () => {
  expect(serve("--port 1 --login-link", { TTYHQ_PORT: "2" }).listen.port).toBe(1);
  expect(serve("--login-link", { TTYHQ_PORT: "", TTYHQ_NO_AUTH: "", SERVICE_PASSWORD: "" }).listen.port).toBe(
    4020,
  );
});

test("the variable that Kubernetes sets for a service named ttyhq is not the port", () => {
  expect(serve("--login-link", { TTYHQ_PORT: "tcp://10.96.0.12:4020" }).listen.port).toBe(4020);
});

test("a control directory with too long a path for sockets is refused with a remedy", () => {
  const longest = `/${"d".repeat(79)}`;
  expect(serve(`--login-link --control-dir ${longest}`).controlDir).toBe(longest);
  expect(problems(`--login-link --control-dir ${longest}x`)).toEqual([
    `--control-dir: ${longest}x has 81 bytes, must have at most 80, because the paths of unix sockets in it are short by nature: give a shorter one, or a link to this one`,
  ]);
  expect(problems(`--login-link --control-dir /${"日".repeat(27)}`)[0]).toContain("has 82 bytes");
  expect(() => parseHostConfig(input(`--control-dir ${longest}x`, {}, "session-host"))).toThrow(
    "has 81 bytes",
  );
});

test("a user name and a password configure a login", () => {
  const config = serve("--allow-user ada", { SERVICE_USERNAME: "admin", SERVICE_PASSWORD: "s3cret" });
  expect(config.auth).toMatchObject({
    mode: "login",
    password: { kind: "configured", username: "admin" },
    loginLink: false,
    allowUsers: ["ada"],
  });
  expect(passwordOf(config)).toBe("s3cret");
});

test.each(["/run/secrets/password", "/run/secrets/windows"])("a password may be in a file, %s", (path) => {
  expect(passwordOf(serve("", { SERVICE_USERNAME: "admin", SERVICE_PASSWORD_FILE: path }))).toBe("s3cret");
});

test("a password is used unchanged", () => {
  const env = { SERVICE_USERNAME: "admin", SERVICE_PASSWORD: " tcp://x,y\n" };
  expect(passwordOf(serve("", env))).toBe(" tcp://x,y\n");
});

test.each<[string, Env, string]>([
  ["", { SERVICE_USERNAME: "a" }, "SERVICE_USERNAME is set without SERVICE_PASSWORD: set both or none"],
  [
    "--login-link",
    { SERVICE_PASSWORD: "x" },
    "SERVICE_PASSWORD is set without SERVICE_USERNAME: set both or none",
  ],
  ["--login-link --port 65536", {}, '--port: must be a whole number from 0 to 65535, not "65536"'],
  [
    "--login-link",
    { TTYHQ_PORT: "4020x" },
    'TTYHQ_PORT: must be a whole number from 0 to 65535, not "4020x"',
  ],
  [
    "--login-link --bind 1.2.3",
    {},
    '--bind: must be an address or a host name without a port, such as 127.0.0.1, not "1.2.3"',
  ],
  [
    "--login-link --bind a:80",
    {},
    '--bind: must be an address or a host name without a port, such as 127.0.0.1, not "a:80"',
  ],
  [
    "--login-link --allowed-origin *",
    {},
    '--allowed-origin: must be scheme://host[:port] and nothing more, such as https://term.example.com, not "*"',
  ],
  [
    "--login-link --rate-limit-api -1",
    {},
    '--rate-limit-api: must be a whole number from 0 to 1000000, not "-1"',
  ],
  [
    "--login-link --max-recording-size 5x",
    {},
    '--max-recording-size: must be a number of bytes above 0, such as 1048576, 256MiB or 10GB, not "5x"',
  ],
  ["--login-link --session-host near", {}, '--session-host: must be apart or external or inline, not "near"'],
  [
    "",
    { TTYHQ_NO_AUTH: "maybe", TTYHQ_LOGIN_LINK: "on" },
    'TTYHQ_NO_AUTH: must be true or false, not "maybe"',
  ],
  ["--login-link", { TTYHQ_JWT_SECRET: "short" }, "TTYHQ_JWT_SECRET: has 5 bytes, must have at least 32"],
  [
    "--login-link",
    { TTYHQ_JWT_SECRET: "x".repeat(32), TTYHQ_JWT_SECRET_FILE: "jwt" },
    "TTYHQ_JWT_SECRET and TTYHQ_JWT_SECRET_FILE are both set: set one of them",
  ],
  [
    "--login-link --jwt-secret-file none",
    {},
    "--jwt-secret-file: cannot read the file: ENOENT: no such file, open '/work/none'",
  ],
  [
    "",
    { SERVICE_USERNAME: "a", SERVICE_PASSWORD_FILE: "/run/secrets/empty" },
    "SERVICE_PASSWORD_FILE: has 0 bytes, must have at least 1",
  ],
  [
    "--enable-proxy-serve --proxy-external --bind 0.0.0.0",
    {},
    "--enable-proxy-serve listens on 127.0.0.1 alone, and --bind says 0.0.0.0: leave it out, and say with --proxy-listen where the proxy listens",
  ],
  [
    "--proxy-external",
    {},
    "--proxy-external is for the proxy that --enable-proxy-serve starts: give that alone, or leave it out",
  ],
  [
    "--local-auth-token-file jwt",
    {},
    "--local-auth-token-file is for --allow-local-bypass alone: give that, too, or leave it out",
  ],
  [
    "",
    { TTYHQ_TRUSTED_PROXY: "10.0.0.0/33" },
    'TTYHQ_TRUSTED_PROXY: must be an address or a range of addresses, such as 10.0.0.0/8, not "10.0.0.0/33"',
  ],
  [
    "--metrics-listen 9100",
    {},
    '--metrics-listen: must be an address and a port, such as 0.0.0.0:4443, not "9100"',
  ],
])("%s with %j is refused", (commandLine, env, sentence) => {
  expect(problems(commandLine, env)).toEqual([sentence]);
});

test("all problems are reported at once", () => {
  expect(problems("--port x --bind y:1", { TTYHQ_RATE_LIMIT_API: "z" })).toHaveLength(3);
});

test("a problem with a secret does not show it", () => {
  expect(problems("--login-link", { TTYHQ_JWT_SECRET: "hunter2" }).join()).not.toContain("hunter2");
});

test("--no-auth overrides every other login option and warns of unused ones", () => {
  const config = serve("--no-auth --login-link --bind 127.0.0.1", {
    SERVICE_USERNAME: "a",
    SERVICE_PASSWORD: "b",
  });
  expect(config.auth).toEqual({ mode: "none", isPasswordDisallowed: false });
  expect(config.warnings).toEqual(["--no-auth: SERVICE_USERNAME and SERVICE_PASSWORD are not used"]);
  expect(problems("--no-auth", { SERVICE_USERNAME: "a" })).toEqual([]);
});

test.each([
  ["127.0.0.1", 0, true],
  ["::1", 0, true],
  ["localhost", 0, true],
  ["0.0.0.0", 1, false],
  ["10.0.0.1", 1, false],
  ["::", 1, false],
])("--no-auth on %s gives %i warnings; loopback hosts alone: %s", (bind, warnings, isLoopbackHostOnly) => {
  const config = serve(`--no-auth --bind ${bind}`);
  expect(config.warnings).toHaveLength(warnings);
  expect(config.policy.isLoopbackHostOnly).toBe(isLoopbackHostOnly);
});

test("with a login on loopback any host name is allowed, such as a proxy's", () => {
  expect(serve("--login-link --bind 127.0.0.1").policy.isLoopbackHostOnly).toBe(false);
});

test.each([
  ["t", "/work/t"],
  ["~", "/home/me"],
  ["~/t", "/home/me/t"],
  ["~other/t", "/work/~other/t"],
  ["../t/", "/t"],
])("the control directory %s is %s", (given, absolute) => {
  expect(serve("--login-link", { TTYHQ_CONTROL_DIR: given }).controlDir).toBe(absolute);
});

test.each(["http://localhost:9000/", "http://127.0.0.1:9000/", "http://[::1]:9000/", "https://a.example/"])(
  "audit lines can be sent to %s",
  (url) => {
    expect(serve(`--login-link --audit-ship ${url}`).auditShipping.to).toEqual([{ kind: "http", url }]);
  },
);

test.each(["http://a.example/", "http://[::2]:9000/"])("audit lines cannot be sent to %s", (url) => {
  expect(() => serve(`--login-link --audit-ship ${url}`)).toThrow("http on this machine alone");
});

test("a configuration is frozen and shows no secret", () => {
  const config = serve("", { SERVICE_USERNAME: "admin", SERVICE_PASSWORD: "hunter2" });
  expect(() => Object.assign(config.listen, { port: 1 })).toThrow(TypeError);
  expect(() => Object.assign(config.policy.allowedOrigins, { 0: "x" })).toThrow(TypeError);
  expect(JSON.stringify(config)).not.toContain("hunter2");
});
