// The part of the option table about an HQ and its remotes (specification 5.5).

import { MIN_JOIN_TOKEN_BYTES } from "../../protocol/limits.ts";
import { file, type Role, secret, toggle, value } from "./option.ts";
import { certificates } from "./pem.ts";
import { httpOrigin, remoteName, remoteNamePattern, userName } from "./value.ts";

const SERVER: readonly Role[] = ["server"];

export const FLEET_OPTIONS = {
  hq: toggle({
    name: "hq",
    prose: "Be an HQ: other servers register with it, and all their sessions are used here.",
    roles: SERVER,
  }),
  username: value<string | undefined>({
    name: "username",
    placeholder: "name",
    parse: userName,
    fallback: undefined,
    fallbackText: "",
    prose:
      "With `--hq` and a password: what remotes prove themselves with, and people log in with. SERVICE_USERNAME does the same.",
    roles: SERVER,
  }),
  password: secret({
    name: "password",
    minBytes: 1,
    hasPlainFlag: true,
    prose: "With `--username`: the password of the HQ.",
    roles: SERVER,
  }),
  hqSessions: toggle({
    name: "hq-sessions",
    prose: "Of an HQ: it has sessions of its own as well, as the remote `local`.",
    roles: SERVER,
  }),
  registryUrl: secret({
    name: "registry-url",
    minBytes: 1,
    hasPlainFlag: true,
    isSecret: (text) => /@/.test(text),
    prose:
      "Of an HQ: the Redis, such as rediss://user:password@redis.example.com:6379/0, in which it shares its registry with other HQs. All of them need the same secret of access tokens.",
    roles: SERVER,
  }),
  noBasicJoin: toggle({
    name: "no-basic-join",
    prose:
      "Of an HQ: remotes join with join tokens alone, and not with `--username` and `--password`, with which people still log in.",
    roles: SERVER,
  }),
  joinToken: secret({
    name: "join-token",
    minBytes: MIN_JOIN_TOKEN_BYTES,
    hasPlainFlag: true,
    prose:
      "Of a remote: a token of `ttyhq join-token create`, which enrolls its key at the HQ; not needed any more once it has. Of an HQ: a token that it takes beside those, from any number of remotes.",
    roles: SERVER,
  }),
  joinTokenName: value<string | undefined>({
    name: "join-token-name",
    placeholder: "pattern",
    parse: remoteNamePattern,
    fallback: undefined,
    fallbackText: "",
    prose: "Of an HQ with `--join-token`: the names that remotes may join under with it, such as `build-*`.",
    roles: SERVER,
  }),
  hqUrl: value<string | undefined>({
    name: "hq-url",
    placeholder: "origin",
    parse: httpOrigin,
    fallback: undefined,
    fallbackText: "",
    prose: "Be a remote of the HQ at this address, such as https://hq.example.com.",
    roles: SERVER,
  }),
  hqUsername: value<string | undefined>({
    name: "hq-username",
    placeholder: "name",
    parse: userName,
    fallback: undefined,
    fallbackText: "",
    prose: "User name that the HQ asks of its remotes: its `--username`.",
    roles: SERVER,
  }),
  hqPassword: secret({
    name: "hq-password",
    minBytes: 1,
    hasPlainFlag: true,
    prose: "Password that the HQ asks of its remotes: its `--password`.",
    roles: SERVER,
  }),
  name: value<string | undefined>({
    name: "name",
    placeholder: "name",
    parse: remoteName,
    fallback: undefined,
    fallbackText: "",
    prose: "What a remote is called at its HQ, unlike any other. Without it: the name of the machine.",
    roles: SERVER,
  }),
  remoteUrl: value<string | undefined>({
    name: "remote-url",
    placeholder: "origin",
    parse: httpOrigin,
    fallback: undefined,
    fallbackText: "",
    prose:
      "Address at which the HQ reaches a remote. Without it: made of the address that it listens on, or of the machine's name.",
    roles: SERVER,
  }),
  hqCa: file({
    name: "hq-ca",
    parse: certificates,
    prose:
      "Certificates, in PEM form, of authorities that an HQ and its remotes trust in each other beside the public ones.",
    roles: SERVER,
  }),
  allowInsecureHq: toggle({
    name: "allow-insecure-hq",
    prose: "Let `--hq-url` be plain HTTP. For development alone.",
    roles: SERVER,
  }),
  noHqAuth: toggle({
    name: "no-hq-auth",
    prose: "No credentials between an HQ and its remotes. For tests alone.",
    roles: SERVER,
  }),
} as const;
