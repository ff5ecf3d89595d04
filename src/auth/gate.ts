// Everything about logging in, put together from the configuration.
import { setTimeout } from "node:timers/promises";
import { z } from "zod";
import type { RecordStore, TicketStore } from "../lib/data/live-records.ts";
import { Tally } from "../lib/data/tally.ts";
import type { Credentials, Secret } from "../lib/secret.ts";
import type { Log } from "../log.ts";
import type { AuthConfig } from "../protocol/schemas/auth.ts";
import type { RoleRule } from "../protocol/schemas/role.ts";
import { AccountCheck } from "./accounts/account-check.ts";
import type { Accounts } from "./accounts/accounts.ts";
import {
  type Authenticator,
  byBearer,
  byLocalBypass,
  byMachineToken,
  byProxyIdentity,
  byQueryToken,
  chain,
  everyoneIs,
  type LoginWatch,
  onlyFor,
  openRegistry,
  type Prover,
  type RequestClaims,
} from "./chain.ts";
import { Login } from "./login.ts";
import type { FactorStore } from "./passkey/factor-store.ts";
import { PendingFactor, SecondFactor } from "./passkey/second-factor.ts";
import { LoginAttempts } from "./password/attempts.ts";
import { byBasic } from "./password/basic.ts";
import { configuredPassword, type PasswordCheck } from "./password/password-login.ts";
import type { Principal } from "./principal.ts";
import { keptTokenSecret, passingTokenSecret } from "./secret.ts";
import { KeyLogin } from "./ssh/key-login.ts";
import { UserKeys } from "./ssh/user-keys.ts";
import { AccessTokens } from "./tokens/access-token.ts";
import { FileRecords } from "./tokens/file-records.ts";
import { LoginRecords } from "./tokens/login-records.ts";
import { Shares } from "./tokens/shares.ts";
import { ENROLMENT_CODES, LOGIN_LINKS, SECOND_FACTORS, Tickets, WS_TICKETS } from "./tokens/tickets.ts";
import { proxiedUsersOf, type Users, usersOf } from "./users.ts";

/** `isPasswordDisallowed`: by --disallow-user-password, which changes nothing here. */
export type NoLogin = { readonly mode: "none"; readonly isPasswordDisallowed: boolean };

/** How people log in, of the configuration. */
export type LoginModes = {
  readonly mode: "login";
  readonly password:
    | ({ readonly kind: "configured" } & Credentials)
    | { readonly kind: "system" }
    | undefined;
  readonly sshKeys: boolean;
  readonly loginLink: boolean;
  readonly allowUsers: readonly string[];
  readonly adminUsers: readonly string[];
  readonly roles?: readonly RoleRule[];
  /** How long a login may go unused; `undefined`: until it expires. */
  readonly idleTimeoutMs?: number | undefined;
  readonly identity: "own-proxy" | "local-proxy" | undefined;
  readonly localBypass: { readonly token: Secret | undefined } | undefined;
};

export type GateOptions = {
  readonly mode: NoLogin | LoginModes;
  /** Who the server runs as, and whether that is root, who may become everybody else. */
  readonly serverUser: string;
  readonly isRoot: boolean;
  /** The home of that user, where the keys are that log in. */
  readonly serverHome: string;
  readonly tokenSecret: Secret | undefined;
  /** Where the secret is kept that no option gave. */
  readonly secretFile: string;
  /** Logins, share links and tickets; not used where nobody logs in. */
  readonly openRecords: () => Promise<RecordStore>;
  /** Passkeys after a password; without it the password is enough. */
  readonly secondFactor?: { readonly open: () => Promise<FactorStore>; readonly isRequired: boolean };
  readonly log: Log;
  /** Users of the system. */
  readonly accounts: Accounts;
  /** On an HQ: what Basic has to prove. */
  readonly hqCredentials?: Credentials | undefined;
  /** On an HQ without them: machines join without any proof. */
  readonly openRegistration?: boolean;
  /** On a remote: what its HQ proves itself with, new at each start. */
  readonly machineToken?: Secret | undefined;
  /** With what our own reverse proxy proves itself; there with `identity` "own-proxy". */
  readonly proxyProof?: Secret | undefined;
};

/** What the server's doors and routes need to know who asks. */
export type Gate = {
  readonly authenticate: (facts: RequestClaims) => Promise<Principal>;
  /** For what goes on for as long as a login does: a socket, a stream. */
  readonly whenOver: LoginWatch;
  readonly login: Login;
  readonly tokens: AccessTokens;
  readonly loginRecords: LoginRecords;
  readonly tickets: Tickets<Principal>;
  readonly links: Tickets<string>;
  /** `undefined` where no password logs in. */
  readonly secondFactor: SecondFactor | undefined;
  /** `undefined` where nobody logs in. */
  readonly shares: Shares | undefined;
  readonly users: Users;
  readonly config: AuthConfig;
  /** Logins since the start, and those beyond the limit of failed ones. */
  readonly logins: Tally<"method" | "result">;
  readonly attempts: Pick<LoginAttempts, "refusals">;
};

/** Who bought a ticket: nobody but us writes it. */
const Holder = z.custom<Principal>((value) => typeof value === "object" && value !== null);

export async function createGate(options: GateOptions): Promise<Gate> {
  const { mode, serverUser, log } = options;
  const now = (): number => Date.now();
  const monotonic = (): number => performance.now();
  const records = mode.mode === "none" ? FileRecords.inMemory(now) : await options.openRecords();
  const secret = await tokenSecretOf(options);
  const idleMs = mode.mode === "login" ? mode.idleTimeoutMs : undefined;
  const loginRecords = new LoginRecords({ records, now, idleMs, log });
  const tokens = new AccessTokens({ secret, records, logins: loginRecords, now });
  const tickets = new Tickets(WS_TICKETS, Holder, records.tickets);
  const links = new Tickets(LOGIN_LINKS, z.string(), records.tickets);
  const modes = mode.mode === "login" ? mode : undefined;
  const pair = modes?.password?.kind === "configured" ? modes.password : undefined;
  const attempts = new LoginAttempts(monotonic);
  const logins = loginTally();
  const { users, proxied } = everyUserOf(options, modes);
  const password = modes && (await passwordCheckOf(modes, options, users));
  const shares = modes && new Shares({ tokens, records, now });
  const secondFactor = password && (await secondFactorOf(options.secondFactor, records.tickets));
  const login = new Login({
    ...{ serverUser, tokens, links, log, attempts, users, secondFactor, tally: logins },
    mode: modes === undefined ? { mode: "none" } : { mode: "login", password },
    defaultUser: pair?.username ?? serverUser,
    keys: modes?.sshKeys === true ? keyLoginOf(options, users, ownNamesOf(serverUser, modes)) : undefined,
  });
  const parts = { tokens, tickets, attempts, logins, users };
  return {
    ...{ ...parts, login, loginRecords, links, secondFactor, shares },
    ...accountCheckOf(options, modes, { shares, users, proxied }).guard({
      authenticate: chain(waysOf(options, { ...parts, proxied })),
      whenOver: (principal, over) => tokens.whenOver(principal, over),
    }),
    config: {
      enableSSHKeys: modes?.sshKeys ?? false,
      disallowUserPassword: mode.mode === "none" ? mode.isPasswordDisallowed : mode.password === undefined,
      noAuth: modes === undefined,
      ...(password === undefined ? {} : { passwordMode: pair === undefined ? "system" : "configured" }),
      proxyAuth: modes?.identity !== undefined,
      ...(modes === undefined ? { user: serverUser } : {}),
    },
  };
}

/** Tokens that anyone may have must not outlive the mode in which anyone may have them. */
async function tokenSecretOf({ mode, tokenSecret, secretFile, log }: GateOptions): Promise<Secret> {
  if (mode.mode === "none") return passingTokenSecret();
  return tokenSecret ?? (await keptTokenSecret(secretFile, log));
}

function loginTally(): Gate["logins"] {
  const results = ["ok", "refused", "limited", "failed"];
  const kinds = ["password", "second-factor", "link", "ssh-key"].flatMap((method) =>
    results.map((result) => [method, result]),
  );
  return new Tally("method", "result").expecting(
    ...kinds,
    ["basic", "refused"],
    ["oidc", "ok"],
    ["oidc", "refused"],
  );
}

async function secondFactorOf(
  options: GateOptions["secondFactor"],
  tickets: TicketStore,
): Promise<SecondFactor | undefined> {
  if (options === undefined) return undefined;
  return new SecondFactor({
    store: await options.open(),
    pending: new Tickets(SECOND_FACTORS, PendingFactor, tickets),
    enrolmentCodes: new Tickets(ENROLMENT_CODES, z.string(), tickets),
    isRequired: options.isRequired,
    now: () => new Date(),
  });
}

/** `undefined`: no password logs in. */
async function passwordCheckOf(
  modes: LoginModes,
  options: Pick<GateOptions, "serverUser" | "isRoot" | "log" | "accounts" | "machineToken">,
  users: Users,
): Promise<PasswordCheck | undefined> {
  const { password, allowUsers, adminUsers, roles = [], sshKeys, loginLink, identity, localBypass } = modes;
  const { serverUser, isRoot, log, accounts, machineToken } = options;
  if (password === undefined) return undefined;
  if (password.kind === "configured") return configuredPassword(password);
  const { openSystemPassword } = await import("./password/system-password.ts");
  return await openSystemPassword({
    ...{ accounts, users, log, serverUser, isRoot },
    hasOtherUsers: roles.length > 0 || [...allowUsers, ...adminUsers].some((user) => user !== serverUser),
    // A remote is reached through its HQ, which logs people in.
    hasOtherWays: [sshKeys, loginLink, identity, localBypass, machineToken].some(Boolean),
  });
}

/** Those who log in here, and those whom a proxy names. */
function everyUserOf(
  { serverUser, isRoot }: GateOptions,
  modes: LoginModes | undefined,
): { readonly users: Users; readonly proxied: Users } {
  const pair = modes?.password?.kind === "configured" ? modes.password : undefined;
  const names = {
    ...{ serverUser, isRoot: isRoot, configuredUser: pair?.username },
    ...{ allowUsers: modes?.allowUsers ?? [], adminUsers: modes?.adminUsers ?? [] },
    roles: modes?.roles ?? [],
  };
  // Another proxy of this machine is trusted with the configured user; a provider's user of that name is somebody else.
  const vouched = modes?.identity === "local-proxy" && pair !== undefined ? [pair.username] : [];
  const proxied = proxiedUsersOf({ ...names, allowUsers: [...names.allowUsers, ...vouched] });
  return { users: usersOf(names), proxied };
}

/** Users who are the server itself. */
function ownNamesOf(serverUser: string, modes: LoginModes | undefined): readonly string[] {
  const { password } = modes ?? {};
  return password?.kind === "configured" ? [serverUser, password.username] : [serverUser];
}

function accountCheckOf(
  { accounts, log, serverUser, isRoot }: GateOptions,
  modes: LoginModes | undefined,
  {
    shares,
    users,
    proxied,
  }: Pick<Gate, "users"> & { readonly shares: Shares | undefined; readonly proxied: Users },
): AccountCheck {
  return new AccountCheck({
    ...{ accounts, log, ownNames: ownNamesOf(serverUser, modes) },
    creatorOf: (shareId) => shares?.creatorOf(shareId),
    mayLogIn: ({ user, through }) =>
      through === "other" || (through === "login" ? users : proxied).mayLogIn(user),
    hasSystemUsers: isRoot || modes?.password?.kind === "system" || modes?.sshKeys === true,
  });
}

function keyLoginOf(
  { serverHome, log, accounts }: GateOptions,
  users: Users,
  ownNames: readonly string[],
): KeyLogin {
  const wallClock = (): number => Date.now();
  const keys = new UserKeys({ accounts, ownNames, ownHome: serverHome, now: wallClock, log });
  return new KeyLogin({ keys, users, now: () => performance.now(), wallClock, pause: setTimeout });
}

/** In the order in which they are asked. */
function waysOf(
  options: GateOptions,
  parts: Pick<Gate, "tokens" | "tickets" | "users"> & {
    readonly attempts: LoginAttempts;
    readonly logins: Gate["logins"];
    readonly proxied: Users;
  },
): readonly Authenticator[] {
  const { mode, serverUser, hqCredentials, openRegistration = false, machineToken, log } = options;
  const { tokens, tickets, attempts, logins, users, proxied } = parts;
  const machine = machineToken === undefined ? [] : [byMachineToken(machineToken, { serverUser, users })];
  if (mode.mode === "none") return [...machine, everyoneIs(serverUser, "none")];
  const credentials = hqCredentials && byBasic({ credentials: hqCredentials, attempts, logins, log });
  const { identity, local } = trustedWays(mode, options);
  return [
    ...machine,
    ...[byBearer(tokens), byQueryToken(tokens, tickets)].map((way) =>
      onlyFor(users, way, groupsOf(mode, options)),
    ),
    ...identity.map((way) => onlyFor(proxied, way)),
    ...local.map((way) => onlyFor(users, way)),
    // A Basic header may be the login of a proxy in front, and counts for nothing where there is a better proof.
    ...(credentials === undefined ? [] : [credentials]),
    ...(openRegistration ? [openRegistry(serverUser)] : []),
  ];
}

/** Of the users of this system; nobody is asked where no option gives a role to a group. */
function groupsOf(
  { roles = [], password, sshKeys }: LoginModes,
  { accounts }: Pick<GateOptions, "accounts">,
): ((user: string) => Promise<readonly string[]>) | undefined {
  const isOfSystem = password?.kind === "system" || sshKeys;
  return isOfSystem && roles.some((rule) => "group" in rule) ? (user) => accounts.groups(user) : undefined;
}

/** What needs no login of ours. */
function trustedWays(
  { identity, localBypass }: LoginModes,
  { serverUser, proxyProof }: GateOptions,
): { readonly identity: readonly Prover[]; readonly local: readonly Prover[] } {
  const trusted =
    identity === "local-proxy"
      ? ({ from: identity } as const)
      : proxyProof && ({ from: "own-proxy", proof: proxyProof } as const);
  return {
    identity: identity === undefined || trusted === undefined ? [] : [byProxyIdentity(trusted)],
    local: localBypass === undefined ? [] : [byLocalBypass({ serverUser, token: localBypass.token })],
  };
}
