// The units of a server and its session host, as texts.
import { ConfigError } from "../../config/config-error.ts";
import { parseJson } from "../../protocol/json.ts";
import { DEFAULT_GRACE_MS } from "../../protocol/limits.ts";

/** The machine's service manager, or a user's. */
export type Scope = "system" | "user";

/** The command that controls units of that scope. */
export function systemctlCommand(scope: Scope): string {
  return scope === "user" ? "systemctl --user" : "systemctl";
}

export const SERVER_UNIT = "ttyhq.service";
export const HOST_UNIT = "ttyhq-session-host.service";

export type UnitPlan = {
  readonly note: string;
  readonly scope: Scope;
  /** The program with the arguments before the command. */
  readonly program: readonly string[];
  /** Flags of `ttyhq serve`, the configuration file's among them. */
  readonly serverFlags: readonly string[];
  readonly hostFlags: readonly string[];
  readonly clientFlags: readonly string[];
  /** User of the machine's service. `undefined`: root, whose sessions run as the user who logs in. */
  readonly runAs: string | undefined;
  readonly graceMs: number;
};

const START_SECONDS = 60;

/** The server. Its sessions belong to the other unit, so that no restart ends a program. */
export function serverUnit(plan: UnitPlan): string {
  const { note, scope, program, serverFlags, clientFlags } = plan;
  return unit(note, {
    Unit: [
      "Description=ttyhq: terminal sessions in the browser",
      `Wants=${HOST_UNIT}${scope === "system" ? " network-online.target" : ""}`,
      `After=${HOST_UNIT}${scope === "system" ? " network-online.target" : ""}`,
      "StartLimitIntervalSec=0",
    ],
    Service: [
      "Type=exec",
      `ExecStart=${execLine([...program, "serve", ...serverFlags, "--session-host", "external"])}`,
      "# It counts as started when it answers.",
      `ExecStartPost=${execLine([...program, "health", ...clientFlags, "--wait", `${START_SECONDS}`])}`,
      ...RESTART,
      ...stopping(plan),
      "LimitNOFILE=65536",
      ...identity(plan),
      ...hardening(plan),
    ],
    Install: [`WantedBy=${scope === "system" ? "multi-user.target" : "default.target"}`],
  });
}

/** The session host with its programs, without hardening: they may do what their users may do. */
export function hostUnit(plan: UnitPlan): string {
  const { note, scope, program, hostFlags, clientFlags } = plan;
  const wait = ["--session-host", "--wait", `${START_SECONDS}`];
  return unit(note, {
    Unit: ["Description=ttyhq session host: the programs in its terminals", "StartLimitIntervalSec=0"],
    Service: [
      "Type=exec",
      `ExecStart=${execLine([...program, "session-host", ...hostFlags])}`,
      `ExecStartPost=${execLine([...program, "health", ...clientFlags, ...wait])}`,
      ...RESTART,
      ...stopping(plan),
      "# A program that takes too much memory is killed alone.",
      "OOMPolicy=continue",
      "# As many processes and threads as the users of a machine may have elsewhere.",
      "TasksMax=33%",
      ...delegation(plan),
      ...identity(plan),
    ],
    Install: [`WantedBy=${scope === "system" ? "multi-user.target" : "default.target"}`],
  });
}

/** A session host of root limits the processes of each user by control groups. */
function delegation({ scope, runAs }: UnitPlan): readonly string[] {
  return scope === "system" && runAs === undefined ? ["Delegate=pids"] : [];
}

/** Exit code 2: an invalid configuration, for which a restart is useless. */
const RESTART = ["Restart=always", "RestartSec=1", "RestartPreventExitStatus=2"];

/** The process stops gracefully within its grace period; then everything left is killed. */
function stopping({ graceMs }: UnitPlan): readonly string[] {
  const seconds = Math.max(MIN_STOP_SECONDS, Math.ceil(graceMs / 1000) + STOP_MARGIN_SECONDS);
  return [`TimeoutStopSec=${seconds}`, "KillMode=mixed"];
}

/** Room for a longer grace period. */
const MIN_STOP_SECONDS = 90;
const STOP_MARGIN_SECONDS = 15;

function identity({ scope, runAs }: UnitPlan): readonly string[] {
  if (scope === "user") return [];
  const user = runAs === undefined ? [] : [`User=${runAs}`];
  return [...user, "StateDirectory=ttyhq", "StateDirectoryMode=0700"];
}

/**
 * Git runs as the user, with access to homes and repositories and their hooks. Otherwise a server of root needs few
 * rights. Servers of other users get nothing that implies NoNewPrivileges: password checks need a setuid helper.
 */
function hardening({ scope, runAs }: UnitPlan): readonly string[] {
  if (scope === "user") return [];
  const ofAll = ["ProtectSystem=full", "ProtectControlGroups=yes"];
  if (runAs !== undefined) return ofAll;
  return [
    ...ofAll,
    "ProtectKernelTunables=yes",
    "ProtectKernelModules=yes",
    "ProtectKernelLogs=yes",
    "ProtectClock=yes",
    "ProtectHostname=yes",
    "PrivateDevices=yes",
    "LockPersonality=yes",
    "RestrictRealtime=yes",
    "RestrictNamespaces=yes",
    "RestrictAddressFamilies=AF_UNIX AF_INET AF_INET6 AF_NETLINK",
    "SystemCallArchitectures=native",
    "SystemCallFilter=~@clock @cpu-emulation @module @mount @obsolete @raw-io @reboot @swap",
    "SystemCallErrorNumber=EPERM",
    `CapabilityBoundingSet=${CAPABILITIES.join(" ")}`,
  ];
}

/** To authenticate users, to switch to them, to access their files, and for ports below 1024. */
const CAPABILITIES = [
  ...["CAP_AUDIT_WRITE", "CAP_CHOWN", "CAP_DAC_OVERRIDE", "CAP_DAC_READ_SEARCH", "CAP_FOWNER"],
  ...["CAP_KILL", "CAP_NET_BIND_SERVICE", "CAP_SETGID", "CAP_SETUID"],
];

function unit(note: string, sections: Readonly<Record<string, readonly string[]>>): string {
  const texts = Object.entries(sections).map(([name, lines]) => [`[${name}]`, ...lines, ""].join("\n"));
  return `# ${note}\n\n${texts.join("\n")}`;
}

const PLAIN = /^[\w@+=:,./-]+$/;

/** Quotes words for `ExecStart=`: variables, specifiers and quotes have no effect. systemd knows the escapes of JSON. */
export function execLine(words: readonly string[]): string {
  const quoted = (word: string): string => JSON.stringify(word).replaceAll(/[%$]/g, "$&$&");
  return words.map((word) => (PLAIN.test(word) ? word : quoted(word))).join(" ");
}

/** The words of `execLine`. Throws ConfigError for an escape that JSON lacks, which systemd may know. */
export function execWords(line: string): readonly string[] {
  const unquoted = (word: string): string => {
    const text = parseJson(word.replaceAll(/([%$])\1/g, "$1"));
    if (typeof text === "string") return text;
    throw new ConfigError([`ExecStart= of a unit: ${word} has an escape sequence that is not read here`]);
  };
  const words = line.match(/"(?:[^"\\]|\\.)*"|\S+/g) ?? [];
  return words.map((word) => (word.startsWith('"') ? unquoted(word) : word));
}

const NOTE =
  "For packages that bring /usr/bin/ttyhq. Made by npm run docs from src/cli/systemd/unit-file.ts.";
const CONFIG = ["--config", "/etc/ttyhq/config.yaml"];
const COMMON = { note: NOTE, program: ["/usr/bin/ttyhq"], runAs: undefined, graceMs: DEFAULT_GRACE_MS };
const SYSTEM: UnitPlan = {
  ...{ ...COMMON, scope: "system" },
  ...{ serverFlags: CONFIG, hostFlags: CONFIG, clientFlags: CONFIG },
};
/** Without --config: the file is optional for users. */
const USER: UnitPlan = { ...COMMON, scope: "user", serverFlags: [], hostFlags: [], clientFlags: [] };

/** By path below packaging/systemd/. */
export const PACKAGED_UNITS: Readonly<Record<string, () => string>> = {
  [`system/${SERVER_UNIT}`]: () => serverUnit(SYSTEM),
  [`system/${HOST_UNIT}`]: () => hostUnit(SYSTEM),
  [`user/${SERVER_UNIT}`]: () => serverUnit(USER),
  [`user/${HOST_UNIT}`]: () => hostUnit(USER),
};
