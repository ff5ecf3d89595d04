// The options of an HQ and its remotes (specification 5.5).
import { MIN_JOIN_TOKEN_BYTES } from "../../protocol/limits.ts";
import { file, list, optional, secret, toggle } from "./option.ts";
import { certificates, httpOrigin, machineLabel, remoteName, remoteNamePattern, userName } from "./value.ts";

/** Only for an HQ, as is `joinTokenName`. */
export const HQ_OPTIONS = {
  username: optional("username <name>", userName, {
    prose:
      "With `--hq` and a password: the credentials of the HQ, for its remotes and for people who log in. SERVICE_USERNAME does the same.",
  }),
  password: secret("password", {
    minBytes: 1,
    hasPlainFlag: true,
    prose: "With `--username`: the password of the HQ.",
  }),
  hqSessions: toggle("hq-sessions", {
    prose: "HQ only: also have sessions of its own, as the remote `local`.",
  }),
  registryUrl: secret("registry-url", {
    minBytes: 1,
    hasPlainFlag: true,
    isSecret: (text) => text.includes("@") || text.includes("sentinel-password="),
    prose:
      "HQ only: the Redis, such as rediss://user:password@redis.example.com:6379/0, in which it shares its registry with other HQs; with Sentinels redis+sentinel://user:password@host1,host2,host3/master/0. All of them need the same `--jwt-secret-file`.",
  }),
  noBasicJoin: toggle("no-basic-join", {
    prose:
      "HQ only: remotes join only with join tokens, not with `--username` and `--password`; people still log in with these.",
  }),
} as const;

/** Only for a remote, as is `allowInsecureHq`. */
export const REMOTE_OPTIONS = {
  hqDial: toggle("hq-dial", {
    prose:
      "Remote only: keep one outgoing WebSocket to the HQ, over which the HQ reaches this remote, and listen on this machine alone. For machines behind NAT and firewalls.",
  }),
  hqUsername: optional("hq-username <name>", userName, {
    prose: "User name that the HQ requires of its remotes: its `--username`.",
  }),
  hqPassword: secret("hq-password", {
    minBytes: 1,
    hasPlainFlag: true,
    prose: "Password that the HQ requires of its remotes: its `--password`.",
  }),
  name: optional("name <name>", remoteName, {
    prose: "The remote's name at its HQ, which must be unique. Default: the machine's host name.",
  }),
  machineLabel: list("machine-label <key=value>", machineLabel, {
    prose:
      "Remote: something that it has, such as `gpu=true`, for `ttyhq run --machine-label`, which runs a program on any machine with that label.",
  }),
  remoteUrl: optional("remote-url <origin>", httpOrigin, {
    prose:
      "Address at which the HQ reaches the remote. Default: derived from the listening address or the machine's host name.",
  }),
} as const;

export const FLEET_OPTIONS = {
  hq: toggle("hq", {
    prose: "Be an HQ: other servers register with it as remotes, and it serves all their sessions.",
  }),
  ...HQ_OPTIONS,
  joinToken: secret("join-token", {
    minBytes: MIN_JOIN_TOKEN_BYTES,
    hasPlainFlag: true,
    prose:
      "Remote: a token of `ttyhq join-token create`, which enrolls the remote's key at the HQ and is not needed afterwards. HQ: a token that it accepts in addition, from any number of remotes.",
  }),
  joinTokenName: optional("join-token-name <pattern>", remoteNamePattern, {
    prose:
      "HQ with `--join-token`: the names that remotes may join under with that token, such as `build-*`.",
  }),
  hqUrl: optional("hq-url <origin>", httpOrigin, {
    prose: "Be a remote of the HQ at this address, such as https://hq.example.com.",
  }),
  ...REMOTE_OPTIONS,
  hqCa: file("hq-ca", certificates, {
    prose:
      "Certificates, in PEM form, of authorities that an HQ and its remotes trust for each other in addition to the public ones.",
  }),
  allowInsecureHq: toggle("allow-insecure-hq", {
    prose: "Allow plain HTTP in `--hq-url`. For development only.",
  }),
  noHqAuth: toggle("no-hq-auth", {
    prose: "No credentials between an HQ and its remotes. For tests only.",
  }),
} as const;
