// The table of the design, sections 3 and 4, as data. A change here is a decision: write its reason into docs/decisions.md.

/** A layer, and what may be imported there. Files of one place may import each other. */
export type Layer = {
  readonly name: string;
  /** Folders (with their slash) and files. The longest that fits a file is its layer. */
  readonly at: readonly string[];
  /** Layers whose files it may import. */
  readonly imports: readonly string[];
  /** Layers of which it may import types alone. */
  readonly types?: readonly string[];
};

/** What an outermost layer is handed by `app.ts`, and so knows by its type alone. */
const HANDED = ["log", "metrics"];
/** Where everyone may look. */
const BASE = ["ground", "lib", "protocol"];
const SERVER = [
  ...BASE,
  "backend",
  "sessions",
  "hub",
  "remote",
  "hq",
  "auth",
  "access",
  "git",
  "repositories",
  "http",
  "audit",
  "proxy",
  "config",
];

export const LAYERS: readonly Layer[] = [
  // Numbers, errors and JSON: `lib` cannot wait, fail or read without them.
  {
    name: "ground",
    at: ["src/protocol/errors.ts", "src/protocol/json.ts", "src/protocol/limits.ts"],
    imports: [],
  },
  { name: "lib", at: ["src/lib/"], imports: ["ground"] },
  { name: "protocol", at: ["src/protocol/"], imports: ["ground", "lib"] },
  { name: "backend", at: ["src/sessions/backend.ts"], imports: BASE },
  { name: "sessions", at: ["src/sessions/"], imports: [...BASE, "backend"], types: HANDED },
  { name: "hub", at: ["src/hub/"], imports: [...BASE, "backend"], types: HANDED },
  { name: "remote", at: ["src/remote/"], imports: [...BASE, "backend"], types: HANDED },
  { name: "hq", at: ["src/hq/"], imports: [...BASE, "backend", "remote"], types: HANDED },
  { name: "auth", at: ["src/auth/"], imports: BASE, types: [...HANDED, "config"] },
  { name: "git", at: ["src/git/"], imports: BASE, types: HANDED },
  // Where session host and git workers meet.
  {
    name: "repositories",
    at: ["src/repositories/"],
    imports: [...BASE, "backend", "sessions", "git"],
    types: HANDED,
  },
  { name: "access", at: ["src/access/"], imports: [...BASE, "backend", "auth"] },
  {
    name: "http",
    at: ["src/http/"],
    imports: [...BASE, "backend", "hub", "remote", "hq", "auth"],
    types: [...HANDED, "repositories"],
  },
  { name: "audit", at: ["src/audit/"], imports: BASE, types: [...HANDED, "auth", "http", "hub"] },
  { name: "proxy", at: ["src/proxy/"], imports: BASE, types: HANDED },
  { name: "config", at: ["src/config/"], imports: BASE },
  { name: "log", at: ["src/log.ts"], imports: BASE },
  { name: "metrics", at: ["src/metrics/metrics.ts", "src/metrics/"], imports: BASE },
  { name: "app", at: ["src/app.ts", "src/app/"], imports: [...SERVER, ...HANDED] },
  { name: "cli", at: ["src/cli/"], imports: [...SERVER, ...HANDED, "app"] },
  { name: "main", at: ["src/main.ts"], imports: [...BASE, "config", "log", "app", "cli"] },
  { name: "web", at: ["src/web/"], imports: ["ground", "protocol"] },
  // What others test with: nothing of the program knows it.
  { name: "testing", at: ["packages/testing/src/"], imports: [...BASE, "backend", "sessions", "remote"] },
];

/** Layers that run in a browser, and with them every file they reach. */
export const BROWSER_LAYERS: readonly string[] = ["ground", "protocol", "web"];

/** The only files and folders that may import a package, be it for a type. A package that is not listed may not be used. */
export const PACKAGE_IMPORTERS: Readonly<Record<string, readonly string[]>> = {
  "@preact/signals": ["src/web/"],
  "@azurity/pure-nerd-font": ["src/web/"],
  "@simplewebauthn/browser": ["src/web/"],
  "@simplewebauthn/server": ["src/auth/passkey/web-authn.ts"],
  "@xterm/addon-fit": ["src/web/"],
  "@xterm/addon-image": ["src/web/"],
  "@xterm/addon-search": ["src/web/"],
  "@xterm/addon-unicode-graphemes": ["src/web/", "src/sessions/screen/terminal/terminal.ts"],
  "@xterm/addon-web-links": ["src/web/"],
  "@xterm/addon-webgl": ["src/web/"],
  "@xterm/headless": ["src/sessions/screen/terminal/terminal.ts"],
  "@xterm/xterm": ["src/web/"],
  commander: ["src/cli/"],
  express: ["src/http/router.ts"],
  "express-rate-limit": ["src/http/limits/rate-limit.ts"],
  "http-proxy-3": ["src/proxy/forwarder.ts"],
  ioredis: ["src/hq/registry/redis-link.ts"],
  jsonwebtoken: ["src/auth/tokens/access-token.ts"],
  "openid-client": ["src/proxy/provider/provider.ts"],
  pino: ["src/log.ts"],
  preact: ["src/web/"],
  "prom-client": ["src/metrics/metrics.ts", "src/lib/data/histogram.ts", "src/lib/data/prom-client.d.ts"],
  testcontainers: ["packages/testing/src/engine.ts"],
  // The native modules of node-pty and of this project, native/.
  "pty.node": ["src/sessions/pty/pty.ts"],
  "ttyhq.node": [
    "src/sessions/journal/recording.ts",
    "src/sessions/pty/pty.ts",
    "src/sessions/pty/process-table.ts",
    "src/remote/exact-socket.ts",
    "src/audit/ship/syslog-receiver.ts",
  ],
  ws: ["src/http/upgrade.ts", "src/remote/uplink.ts"],
  yaml: ["src/config/sources/config-file.ts"],
  // Schemas are types of the project, not a collaborator.
  zod: ["src/", "packages/testing/src/local/local-cluster.ts"],
};

/** Entry points: the only files that read the environment and the arguments. The testing kit is not part of the program. */
export const ENVIRONMENT_READERS: readonly string[] = [
  "src/main.ts",
  "src/git/worker/main.ts",
  "packages/testing/src/environment.ts",
];

/** Words that name no thing. */
export const EMPTY_WORDS: readonly string[] = [
  "common",
  "handler",
  "handlers",
  "helper",
  "helpers",
  "manager",
  "service",
  "types",
  "util",
  "utils",
];
