// The login options (specification 5.1, contract 5).
import { MIN_TOKEN_SECRET_BYTES } from "../../protocol/limits.ts";
import { list, optional, secret, toggle } from "./option.ts";
import { span } from "./span.ts";
import { allowedUser, origin, roleRule, userName } from "./value.ts";

export const LOGIN_OPTIONS = {
  noAuth: toggle("no-auth", {
    prose: "No login: everyone is the server's user. Overrides every other login option.",
  }),
  enableSshKeys: toggle("enable-ssh-keys", {
    prose: "Allow login with an SSH key (Ed25519) from the user's `~/.ssh/authorized_keys`.",
  }),
  disallowUserPassword: toggle("disallow-user-password", {
    prose: "No login by password, only by SSH key: implies `--enable-ssh-keys`.",
  }),
  requireSecondFactor: toggle("require-second-factor", {
    prose:
      "Require a passkey or a recovery code from every user who logs in with a password. A user without a passkey creates one at the next login, with a code of `ttyhq enrolment-code`. Without this option only users with a passkey are asked for it.",
  }),
  loginIdleTimeout: optional("login-idle-timeout <time>", span("1s", "24h", "30m"), {
    prose:
      "End a login that has been unused for this long, such as 30m. An open page or stream counts as use. Default: a login lasts its 24 hours, because programs may keep a token between runs.",
  }),
  loginLink: toggle("login-link", {
    prose: "Print a link at startup that logs in once, within 10 minutes.",
  }),
  allowUser: list("allow-user <name>", allowedUser, {
    prose:
      "Allows another user to log in; they see only their own sessions. A name, the verified email of a login at a provider, or `https://issuer#subject`; `*` for everyone who can authenticate. On a server that runs as root: only these users.",
  }),
  adminUser: list("admin-user <name>", allowedUser, {
    prose:
      "Allows another user to log in and to use all sessions, like the server's own user. Named as for `--allow-user`.",
  }),
  role: list("role <user=role>", roleRule, {
    prose:
      "Gives a user a role and allows them to log in, or gives the members of a group a role, as `%group=role`; `*=role` for everyone else. Roles: viewer, user (the default), operator, auditor, admin.",
  }),
  serviceUsername: optional("service-username <name>", userName, {
    env: "SERVICE_USERNAME",
    hasFlag: false,
    prose: "With SERVICE_PASSWORD: the only user name and password that can log in.",
  }),
  servicePassword: secret("service-password", {
    minBytes: 1,
    env: "SERVICE_PASSWORD",
    hasFlag: false,
    prose: "With SERVICE_USERNAME: the only user name and password that can log in.",
  }),
  jwtSecret: secret("jwt-secret", {
    minBytes: MIN_TOKEN_SECRET_BYTES,
    prose: `Secret that signs access tokens, at least ${MIN_TOKEN_SECRET_BYTES} bytes. Default: generated once and kept in the control directory.`,
  }),
  allowLocalBypass: toggle("allow-local-bypass", {
    prose:
      "No login for requests from this machine that use a loopback name and come through no proxy: they act as the server's own user.",
  }),
  localAuthToken: secret("local-auth-token", {
    minBytes: 16,
    prose: "With `--allow-local-bypass`: the value that the header X-Ttyhq-Local of such requests must have.",
  }),
  publicUrl: optional("public-url <url>", origin, {
    prose:
      "Address at which users reach the server, such as https://term.example.com with a proxy in front. Share links and login links lead there, and its pages may use the server.",
  }),
  allowedOrigin: list("allowed-origin <origin>", origin, {
    prose:
      "An origin beside the server's own whose pages may use the server, such as https://term.example.com.",
  }),
} as const;
