import { expect, test } from "vitest";
import { parseConfig } from "../../../src/config/config.ts";
import { ConfigError } from "../../../src/config/config-error.ts";
import { type Env, input, passwordOf, problems, reveal, serve } from "./command-line.ts";

const HQ = "--hq --username fleet --password-file /run/secrets/password";
const REMOTE = "--hq-url https://hq.example.com --hq-username fleet --hq-password-file /run/secrets/password";

test("an HQ has one pair for its remotes and its users", () => {
  const config = serve(HQ);
  expect(config.role).toMatchObject({ kind: "hq", hasSessions: false, credentials: { username: "fleet" } });
  expect(config.role.kind === "hq" && reveal(config.role.credentials?.password)).toBe("s3cret");
  expect(config.auth).toMatchObject({ mode: "login", password: { kind: "configured", username: "fleet" } });
  expect(passwordOf(config)).toBe("s3cret");
  expect(config.warnings).toEqual([]);
  expect(serve(`${HQ} --hq-sessions`).role).toMatchObject({ hasSessions: true });
});

test("an HQ's pair may come from every source", () => {
  const ways: readonly (readonly [string, Env])[] = [
    ["--hq --username fleet --password s3cret", {}],
    ["--hq", { TTYHQ_USERNAME: "fleet", TTYHQ_PASSWORD: "s3cret" }],
    ["", { TTYHQ_HQ: "true", TTYHQ_USERNAME: "fleet", TTYHQ_PASSWORD_FILE: "/run/secrets/password" }],
    ["--hq", { SERVICE_USERNAME: "fleet", SERVICE_PASSWORD: "s3cret" }],
    [HQ, { SERVICE_USERNAME: "fleet", SERVICE_PASSWORD: "s3cret" }],
  ];
  for (const [commandLine, env] of ways) {
    const config = serve(commandLine, env);
    expect(passwordOf(config)).toBe("s3cret");
    expect(config.role).toMatchObject({ kind: "hq", credentials: { username: "fleet" } });
  }
});

test("a password on the command line causes a warning that does not show it", () => {
  const { warnings } = serve("--hq --username fleet --password hunter2");
  expect(warnings).toEqual([
    "--password: other users of this machine can see it in the list of processes; give --password-file or TTYHQ_PASSWORD instead",
  ]);
  const remote = serve("--hq-url https://hq --hq-username fleet --hq-password hunter2");
  expect(remote.warnings).toEqual([expect.stringContaining("--hq-password-file or TTYHQ_HQ_PASSWORD")]);
});

test("a remote that dials listens only on loopback, and has no address for its HQ", () => {
  const config = serve(`${REMOTE} --hq-dial`);
  expect(config.role).toMatchObject({ kind: "remote", dials: true, url: undefined });
  expect(config.listen.host).toBe("127.0.0.1");
  expect(serve(REMOTE).role).toMatchObject({ dials: false });
  expect(problems(`${REMOTE} --hq-dial --bind 0.0.0.0 --remote-url https://box.example.com`)).toEqual([
    "--hq-dial listens on 127.0.0.1 alone, and --bind says 0.0.0.0: leave it out",
    "--remote-url is for an HQ that connects to the remote, which --hq-dial does in its place: leave one of them out",
  ]);
  expect(problems(`${HQ} --hq-dial`)).toEqual([
    "--hq-dial is for a remote alone: give --hq-url, too, or leave it out",
  ]);
});

test("a remote has its HQ's address, its name and its own address", () => {
  expect(serve(REMOTE).role).toMatchObject({
    kind: "remote",
    hq: { url: "https://hq.example.com", credentials: { username: "fleet" } },
    name: "box",
    url: undefined,
  });
  const more = serve(`${REMOTE} --name build-7 --remote-url http://10.0.0.7:4020/`);
  expect(more.role).toMatchObject({ name: "build-7", url: "http://10.0.0.7:4020", labels: undefined });
  const labels = "--machine-label gpu=true --machine-label zone=east --machine-label zone=west";
  expect(serve(`${REMOTE} ${labels}`).role).toMatchObject({ labels: { gpu: "true", zone: "west" } });
  const env = {
    TTYHQ_HQ_URL: "https://HQ.example.com:443",
    TTYHQ_HQ_USERNAME: "fleet",
    TTYHQ_HQ_PASSWORD: "s3cret",
    TTYHQ_NAME: "build-7",
    TTYHQ_REMOTE_URL: "https://[::1]:4020",
  };
  expect(serve("", env).role).toMatchObject({
    hq: { url: "https://hq.example.com" },
    name: "build-7",
    url: "https://[::1]:4020",
  });
});

test("a remote has the same logins as other servers", () => {
  expect(serve(REMOTE).auth).toMatchObject({ mode: "login", password: { kind: "system" } });
  expect(serve(`${REMOTE} --no-auth --bind 127.0.0.1`).role).toMatchObject({ hq: { credentials: {} } });
});

test("--no-hq-auth causes a warning on HQs and remotes", () => {
  const hq = serve("--hq --no-hq-auth --login-link");
  expect(hq.role).toMatchObject({ kind: "hq", credentials: undefined, joining: { isOpen: true } });
  expect(hq.warnings).toEqual([
    expect.stringContaining("--no-hq-auth: everyone who reaches this HQ can join it"),
  ]);
  const remote = serve("--hq-url https://hq --no-hq-auth");
  expect(remote.role).toMatchObject({ hq: { url: "https://hq", credentials: undefined } });
  expect(remote.warnings).toEqual([expect.stringContaining("--no-hq-auth: this remote proves itself")]);
  expect(serve(`${REMOTE} --no-hq-auth`).warnings).toContain(
    "--no-hq-auth: --hq-username and --hq-password-file are not used",
  );
});

test("an HQ with --no-hq-auth may have a pair for its users", () => {
  const config = serve(`${HQ} --no-hq-auth`);
  expect(passwordOf(config)).toBe("s3cret");
  expect(config.role).toMatchObject({ credentials: undefined });
});

test("an HQ with --no-auth has no credentials and warns of unused ones", () => {
  const config = serve(`${HQ} --no-auth --bind 127.0.0.1`);
  expect(config.role).toMatchObject({ kind: "hq", credentials: undefined });
  expect(config.warnings).toEqual(["--no-auth: --username and --password-file are not used"]);
  expect(problems("--hq --no-auth")).toEqual([]);
});

test("plain HTTP to the HQ is refused with both remedies, or allowed with a warning", () => {
  const url = "--hq-url http://hq:4020 --hq-username a --hq-password-file /run/secrets/password";
  expect(problems(url)).toEqual([
    "--hq-url: http://hq:4020 is not encrypted: give the HQ a certificate and its address with https, or allow this with --allow-insecure-hq",
  ]);
  const config = serve(`${url} --allow-insecure-hq`);
  expect(config.role).toMatchObject({ hq: { url: "http://hq:4020" } });
  expect(config.warnings).toEqual([
    expect.stringContaining("--allow-insecure-hq: the credentials of the HQ"),
  ]);
  for (const host of ["127.0.0.1:4020", "localhost", "[::1]:4020"]) {
    const local = `${url.replace("hq:4020", host)} --allow-insecure-hq`;
    expect(serve(local).warnings).toEqual([]);
  }
});

const TTYHQ_JOIN_TOKEN = "a join token of at least 32 bytes";

test("a remote joins with a token, or with its key of an earlier start", () => {
  const joining = serve("--hq-url https://hq.example.com", { TTYHQ_JOIN_TOKEN });
  expect(joining.role).toMatchObject({ hq: { credentials: undefined } });
  const { hq } = joining.role.kind === "remote" ? joining.role : {};
  expect(reveal(hq?.key?.joinToken)).toBe(TTYHQ_JOIN_TOKEN);
  const joined = serve("--hq-url https://hq.example.com");
  expect(joined.role).toMatchObject({ hq: { credentials: undefined, key: { joinToken: undefined } } });
  expect(serve(REMOTE).role).toMatchObject({ hq: { key: undefined } });
});

test("an HQ accepts join tokens, and its password unless that is off", () => {
  expect(serve(HQ).role).toMatchObject({ joining: { isOpen: false, isBasicTaken: true, token: undefined } });
  const { role } = serve(`${HQ} --no-basic-join --join-token-name pod-*`, { TTYHQ_JOIN_TOKEN });
  expect(role).toMatchObject({
    ...{ credentials: { username: "fleet" } },
    joining: { isOpen: false, isBasicTaken: false, token: { name: "pod-*" } },
  });
  expect(serve("--hq --no-basic-join --login-link").role).toMatchObject({
    ...{ credentials: undefined, joining: { isOpen: false } },
  });
});

test("an HQ without password login is not open to remotes without proof", () => {
  const config = serve(`${HQ} --disallow-user-password`);
  expect(config.role).toMatchObject({ credentials: undefined, joining: { isOpen: false } });
  expect(config.warnings).toEqual([expect.stringContaining("remotes join with tokens alone")]);
});

const CONTRADICTIONS: readonly (readonly [string, Env, string])[] = [
  [
    `${HQ} --hq-url https://a --hq-username a --hq-password-file /run/secrets/password`,
    {},
    "--hq and --hq-url contradict each other: a server is an HQ or the remote of one",
  ],
  ["--login-link --username a", {}, "--username is for an HQ alone: give --hq, too, or leave it out"],
  [
    "--login-link",
    { TTYHQ_PASSWORD: "x", TTYHQ_HQ: "false" },
    "TTYHQ_PASSWORD is for an HQ alone: give --hq, too, or leave it out",
  ],
  ["--login-link --hq-sessions", {}, "--hq-sessions is for an HQ alone: give --hq, too, or leave it out"],
  ...[
    "--hq-username a",
    "--hq-password-file jwt",
    "--name a",
    "--remote-url http://a",
    "--allow-insecure-hq",
  ].map(
    (option) =>
      [
        `--login-link ${option}`,
        {},
        `${option.split(" ")[0]} is for a remote alone: give --hq-url, too, or leave it out`,
      ] as const,
  ),
  [
    "--login-link --no-hq-auth",
    {},
    "--no-hq-auth is for an HQ or a remote: give --hq or --hq-url, too, or leave it out",
  ],
  ["--hq --username a", {}, "--username is set without --password: set both or none"],
  ["--hq", { TTYHQ_PASSWORD: "a" }, "TTYHQ_PASSWORD is set without --username: set both or none"],
  ["--hq-url https://a --hq-username a", {}, "--hq-username is set without --hq-password: set both or none"],
  [
    `${HQ}`,
    { SERVICE_USERNAME: "fleet", SERVICE_PASSWORD: "other" },
    "--username and --password-file differ from SERVICE_USERNAME and SERVICE_PASSWORD: an HQ has one user name and password, for its remotes and for people; leave one pair out",
  ],
  [
    "--hq --login-link",
    {},
    "--hq needs credentials, which its remotes prove themselves with: give --username and --password-file, or TTYHQ_USERNAME and TTYHQ_PASSWORD; --no-basic-join where remotes join with tokens alone; --no-hq-auth for none, in tests alone",
  ],
  [
    REMOTE,
    { TTYHQ_JOIN_TOKEN },
    "--hq-username and --hq-password-file and TTYHQ_JOIN_TOKEN are both set: a remote with a join token needs no password of its HQ, leave the pair out",
  ],
  [
    "--hq-url https://a",
    { TTYHQ_JOIN_TOKEN: "short" },
    "TTYHQ_JOIN_TOKEN: has 5 bytes, must have at least 32",
  ],
  [
    HQ,
    { TTYHQ_JOIN_TOKEN },
    "TTYHQ_JOIN_TOKEN needs --join-token-name: say which names remotes may join under with it, such as 'build-*'",
  ],
  [
    `${HQ} --join-token-name a`,
    {},
    "--join-token-name is for the token of --join-token-file: give that, too, or leave it out",
  ],
  [
    `${HQ} --join-token-name -x`,
    { TTYHQ_JOIN_TOKEN },
    '--join-token-name: must be the name of a remote, in which * stands for any characters, not "-x"',
  ],
  [
    "--hq --username a --password x --password-file jwt",
    {},
    "--password and --password-file are both set: set one of them",
  ],
  [
    `${REMOTE} --name -x`,
    {},
    '--name: must be 1 to 128 letters, digits, dots, hyphens and underscores, beginning with a letter or digit, not "-x"',
  ],
];

test.each(CONTRADICTIONS)("%s with %j is refused", (commandLine, env, sentence) => {
  expect(problems(commandLine, env)).toEqual([sentence]);
});

test.each([
  "hq.example.com",
  "https://hq/ttyhq",
  "https://a:b@hq",
  "ftp://hq",
  "https://hq?x",
  "https://",
  "https://1.2.3",
])("%s is not the address of a server", (url) => {
  for (const option of ["--hq-url", "--remote-url"]) {
    const rest = option === "--hq-url" ? "--no-hq-auth" : "--hq-url https://hq --no-hq-auth";
    expect(problems(`${option} ${url} ${rest}`)).toEqual([
      `${option}: must be http(s)://host[:port] and nothing more, such as https://hq.example.com, not "${url}"`,
    ]);
  }
});

test("a machine whose host name is not a valid remote name needs --name", () => {
  const parse = (hostname: string, more = "") => parseConfig({ ...input(`${REMOTE}${more}`), hostname });
  expect(parse("ada's laptop", " --name ada").role).toMatchObject({ name: "ada" });
  expect(() => parse("ada's laptop")).toThrow(
    new ConfigError([
      'the name of this machine, "ada\'s laptop", cannot be that of a remote, which must be 1 to 128 letters, digits, dots, hyphens and underscores, beginning with a letter or digit: give one with --name',
    ]),
  );
  expect(parseConfig({ ...input("--login-link"), hostname: "" }).role.kind).toBe("standalone");
});

test("all contradictions are reported at once", () => {
  expect(
    problems("--hq --hq-url http://hq --hq-username a --tls-key /none --remote-url x", {
      SERVICE_USERNAME: "a",
    }),
  ).toHaveLength(7);
});
