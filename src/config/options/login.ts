// The part of the option table about who gets in (specification 5.1, contract 5).
import { MIN_TOKEN_SECRET_BYTES } from "../../protocol/limits.ts";
import { list, type Role, secret, toggle, value } from "./option.ts";
import { span } from "./span.ts";
import { allowedUser, origin, roleRule, userName } from "./value.ts";

const SERVER: readonly Role[] = ["server"];

export const LOGIN_OPTIONS = {
  noAuth: toggle({
    name: "no-auth",
    prose: "No login: everyone is the server's user. Overrides every other option about logging in.",
    roles: SERVER,
  }),
  enableSshKeys: toggle({
    name: "enable-ssh-keys",
    prose: "Offer login with an SSH key (Ed25519) that is in the user's `~/.ssh/authorized_keys`.",
    roles: SERVER,
  }),
  disallowUserPassword: toggle({
    name: "disallow-user-password",
    prose: "No login by password: `--enable-ssh-keys` is on, and keys are what logs in.",
    roles: SERVER,
  }),
  requireSecondFactor: toggle({
    name: "require-second-factor",
    prose:
      "Ask every user who logs in with a password for a passkey or a recovery code as well. A user without a passkey makes one at the next login, with a code of `ttyhq enrolment-code`. Without this option only users with a passkey are asked.",
    roles: SERVER,
  }),
  loginIdleTimeout: value<number | undefined>({
    name: "login-idle-timeout",
    placeholder: "time",
    parse: span(1_000, 24),
    fallback: undefined,
    fallbackText: "",
    prose:
      "End a login that was not used for so long, such as 30m. An open page or stream is use. Without it a login lasts its 24 hours: programs may keep a token between runs.",
    roles: SERVER,
  }),
  loginLink: toggle({
    name: "login-link",
    prose: "Print a link when the server has started that logs in once, within 10 minutes.",
    roles: SERVER,
  }),
  allowUser: list({
    name: "allow-user",
    placeholder: "name",
    parse: allowedUser,
    prose:
      "A user who may log in beside the server's own and has the sessions that they start: a name, the verified email of a login at a provider, or `https://issuer#subject`; `*` for everybody who proves who they are. Of a server that runs as root: these and no others.",
    roles: SERVER,
  }),
  adminUser: list({
    name: "admin-user",
    placeholder: "name",
    parse: allowedUser,
    prose:
      "A user who may log in and see and use everybody's sessions, as the server's own user does; named as for `--allow-user`.",
    roles: SERVER,
  }),
  role: list({
    name: "role",
    placeholder: "user=role",
    parse: roleRule,
    prose:
      "The role of a user, who may log in then, or of the members of a group, as `%group=role`; `*=role` for everybody else. Roles: viewer, user (the default), operator, auditor, admin.",
    roles: SERVER,
  }),
  serviceUsername: value<string | undefined>({
    name: "service-username",
    placeholder: "name",
    parse: userName,
    fallback: undefined,
    fallbackText: "",
    env: "SERVICE_USERNAME",
    hasFlag: false,
    prose: "With SERVICE_PASSWORD: the one user name and password that log in.",
    roles: SERVER,
  }),
  servicePassword: secret({
    name: "service-password",
    minBytes: 1,
    env: "SERVICE_PASSWORD",
    hasFlag: false,
    prose: "With SERVICE_USERNAME: the one user name and password that log in.",
    roles: SERVER,
  }),
  jwtSecret: secret({
    name: "jwt-secret",
    minBytes: MIN_TOKEN_SECRET_BYTES,
    prose: `Secret that signs access tokens, at least ${MIN_TOKEN_SECRET_BYTES} bytes. Without it one is made and kept in the control directory.`,
    roles: SERVER,
  }),
  allowLocalBypass: toggle({
    name: "allow-local-bypass",
    prose:
      "No login for requests from this machine, under a loopback name and by no proxy: they are the server's own user.",
    roles: SERVER,
  }),
  localAuthToken: secret({
    name: "local-auth-token",
    minBytes: 16,
    prose: "With `--allow-local-bypass`: what the header X-Ttyhq-Local of such requests must be.",
    roles: SERVER,
  }),
  allowedOrigin: list({
    name: "allowed-origin",
    placeholder: "origin",
    parse: origin,
    prose: "An origin whose pages may use the server beside its own, such as https://term.example.com.",
    roles: SERVER,
  }),
} as const;
