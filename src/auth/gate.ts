// Creates everything about logging in from the configuration.
import { setTimeout } from "node:timers/promises";
import { z } from "zod";
import type { RecordStore, TicketStore } from "../lib/data/live-records.ts";
import { Tally } from "../lib/data/tally.ts";
import type { Credentials, Secret } from "../lib/secret.ts";
import type { Log } from "../log.ts";
import type { AuthConfig } from "../protocol/schemas/auth.ts";
import type { RoleRule } from "../protocol/schemas/role.ts";
import { checkAccounts } from "./accounts/account-check.ts";
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
import { userKeys } from "./ssh/user-keys.ts";
import { AccessTokens } from "./tokens/access-token.ts";
import { memoryRecords } from "./tokens/file-records.ts";
import { LoginRecords } from "./tokens/login-records.ts";
import { Shares } from "./tokens/shares.ts";
import { ENROLMENT_CODES, LOGIN_LINKS, SECOND_FACTORS, Tickets, WS_TICKETS } from "./tokens/tickets.ts";
import { proxiedUsersOf, type Users, usersOf } from "./users.ts";

/** `isPasswordDisallowed`: --disallow-user-password was given, which has no effect here. */
type NoLogin = { readonly mode: "none"; readonly isPasswordDisallowed: boolean };

/** How users log in. */
type LoginModes = {
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
  /** `undefined`: an unused login lasts until it expires. */
  readonly idleTimeoutMs?: number | undefined;
  readonly identity: "own-proxy" | "local-proxy" | undefined;
  readonly localBypass: { readonly token: Secret | undefined } | undefined;
};

export type GateOptions = {
  readonly mode: NoLogin | LoginModes;
  readonly serverUser: string;
  readonly isRoot: boolean;
  /** The server user's home, for its authorized_keys. */
  readonly serverHome: string;
  readonly tokenSecret: Secret | undefined;
  /** Keeps a generated secret if no option gives one. */
  readonly secretFile: string;
  /** Logins, share links and tickets; not called in mode "none". */
  readonly openRecords: () => Promise<RecordStore>;
  /** Passkeys after a password; without it the password is enough. */
  readonly secondFactor?: { readonly open: () => Promise<FactorStore>; readonly isRequired: boolean };
  readonly log: Log;
  readonly accounts: Accounts;
  /** On an HQ: the pair that Basic must prove. */
  readonly hqCredentials?: Credentials | undefined;
  /** On an HQ without such a pair: remotes join without proof. */
  readonly openRegistration?: boolean;
  /** On a remote: the token of its HQ, new at each start. */
  readonly machineToken?: Secret | undefined;
  /** The proof of our own reverse proxy, for `identity` "own-proxy". */
  readonly proxyProof?: Secret | undefined;
};

/** Logging in, for listeners and routes. */
export type Gate = {
  readonly authenticate: (claims: RequestClaims) => Promise<Principal>;
  /** For sockets and streams, which end with their login. */
  readonly whenOver: LoginWatch;
  readonly login: Login;
  readonly tokens: AccessTokens;
  readonly loginRecords: LoginRecords;
  readonly tickets: Tickets<Principal>;
  readonly links: Tickets<string>;
  /** `undefined` without password login. */
  readonly secondFactor: SecondFactor | undefined;
  /** `undefined` in mode "none". */
  readonly shares: Shares | undefined;
  readonly users: Users;
  readonly config: AuthConfig;
  /** Logins since the start, and tries refused for too many failures. */
  readonly logins: Tally<"method" | "result">;
  readonly attempts: Pick<LoginAttempts, "refusals">;
};

/** Only this server writes tickets. */
const Holder = z.custom<Principal>((value) => typeof value === "object" && value !== null);

export async function createGate(options: GateOptions): Promise<Gate> {
  const { mode, serverUser, isRoot, log, accounts } = options;
  const modes = mode.mode === "login" ? mode : undefined;
  const now = (): number => Date.now();
  const records = modes === undefined ? memoryRecords(now) : await options.openRecords();
  const loginRecords = new LoginRecords({ records, now, idleMs: modes?.idleTimeoutMs, log });
  const tokens = new AccessTokens({
    secret: await tokenSecretOf(options),
    records,
    logins: loginRecords,
    now,
  });
  const tickets = new Tickets(WS_TICKETS, Holder, records.tickets);
  const links = new Tickets(LOGIN_LINKS, z.string(), records.tickets);
  const pair = modes?.password?.kind === "configured" ? modes.password : undefined;
  const attempts = new LoginAttempts(() => performance.now());
  const logins = loginTally();
  const { users, proxied } = usersFor(options, modes);
  const ownNames = pair === undefined ? [serverUser] : [serverUser, pair.username];
  const password = modes && (await passwordCheckOf(modes, options, users));
  const shares = modes && new Shares({ tokens, records, now });
  const secondFactor = password && (await secondFactorOf(options.secondFactor, records.tickets));
  const login = new Login({
    ...{ serverUser, tokens, links, log, attempts, users, secondFactor, tally: logins },
    mode: modes === undefined ? { mode: "none" } : { mode: "login", password },
    defaultUser: pair?.username ?? serverUser,
    keys: modes?.sshKeys === true ? keyLoginOf(options, users, ownNames) : undefined,
  });
  const parts = { tokens, tickets, attempts, logins, users };
  const logged = {
    authenticate: chain(waysOf(options, { ...parts, proxied })),
    whenOver: (principal, over) => tokens.whenOver(principal, over),
  } satisfies Pick<Gate, "authenticate" | "whenOver">;
  const checked = checkAccounts(logged, {
    ...{ accounts, log, ownNames },
    creatorOf: (shareId) => shares?.creatorOf(shareId),
    mayLogIn: ({ user, through }) =>
      through === "other" || (through === "login" ? users : proxied).mayLogIn(user),
    hasSystemUsers: isRoot || modes?.password?.kind === "system" || modes?.sshKeys === true,
  });
  return {
    ...{ ...parts, ...checked, login, loginRecords, links, secondFactor, shares },
    config: configOf(options, password !== undefined),
  };
}

function configOf({ mode, serverUser }: GateOptions, hasPassword: boolean): AuthConfig {
  if (mode.mode === "none") {
    const disallowUserPassword = mode.isPasswordDisallowed;
    return { enableSSHKeys: false, disallowUserPassword, noAuth: true, proxyAuth: false, user: serverUser };
  }
  return {
    enableSSHKeys: mode.sshKeys,
    disallowUserPassword: mode.password === undefined,
    noAuth: false,
    ...(hasPassword && mode.password ? { passwordMode: mode.password.kind } : {}),
    proxyAuth: mode.identity !== undefined,
  };
}

/** In mode "none" anyone gets tokens, so they must not outlive this start. */
async function tokenSecretOf({ mode, tokenSecret, secretFile, log }: GateOptions): Promise<Secret> {
  if (mode.mode === "none") return passingTokenSecret();
  return tokenSecret ?? (await keptTokenSecret(secretFile, log));
}

function loginTally(): Gate["logins"] {
  const kinds = ["password", "second-factor", "link", "ssh-key"].flatMap((method) =>
    ["ok", "refused", "limited", "failed"].map((result) => [method, result]),
  );
  const others = [
    ["basic", "refused"],
    ["oidc", "ok"],
    ["oidc", "refused"],
  ];
  return new Tally("method", "result").expecting(...kinds, ...others);
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

/** `undefined`: no login by password. */
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
    // Users reach a remote through its HQ, which logs them in.
    hasOtherWays: [sshKeys, loginLink, identity, localBypass, machineToken].some(Boolean),
  });
}

/** Users who log in here, and users whom a proxy names. */
function usersFor(
  { serverUser, isRoot }: GateOptions,
  modes: LoginModes | undefined,
): { readonly users: Users; readonly proxied: Users } {
  const { password, identity, allowUsers = [], adminUsers = [], roles = [] } = modes ?? {};
  const configuredUser = password?.kind === "configured" ? password.username : undefined;
  const names = { serverUser, isRoot, configuredUser, allowUsers, adminUsers, roles };
  // Another proxy on this machine may name the configured user; a provider's user of that name is somebody else.
  const vouched = identity === "local-proxy" && configuredUser !== undefined ? [configuredUser] : [];
  return {
    users: usersOf(names),
    proxied: proxiedUsersOf({ ...names, allowUsers: [...allowUsers, ...vouched] }),
  };
}

function keyLoginOf(
  { serverHome, log, accounts }: GateOptions,
  users: Users,
  ownNames: readonly string[],
): KeyLogin {
  const wallClock = (): number => Date.now();
  const keys = userKeys({ accounts, ownNames, ownHome: serverHome, now: wallClock, log });
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
  const { localBypass } = mode;
  const groups = groupsOf(mode, options);
  return [
    ...machine,
    onlyFor(users, byBearer(tokens), groups),
    onlyFor(users, byQueryToken(tokens, tickets), groups),
    ...proxyIdentity(mode, options).map((way) => onlyFor(proxied, way)),
    ...(localBypass === undefined ? [] : [onlyFor(users, byLocalBypass({ serverUser, ...localBypass }))]),
    // After better proofs, because a Basic header may be the login of a proxy in front.
    ...(hqCredentials === undefined ? [] : [byBasic({ credentials: hqCredentials, attempts, logins, log })]),
    ...(openRegistration ? [openRegistry(serverUser)] : []),
  ];
}

/** Of the users of this system; not looked up unless an option gives a role to a group. */
function groupsOf(
  { roles = [], password, sshKeys }: LoginModes,
  { accounts }: Pick<GateOptions, "accounts">,
): ((user: string) => Promise<readonly string[]>) | undefined {
  const isOfSystem = password?.kind === "system" || sshKeys;
  return isOfSystem && roles.some((rule) => "group" in rule) ? (user) => accounts.groups(user) : undefined;
}

function proxyIdentity({ identity }: LoginModes, { proxyProof: proof }: GateOptions): readonly Prover[] {
  if (identity === "local-proxy") return [byProxyIdentity({ from: identity })];
  return identity === undefined || proof === undefined ? [] : [byProxyIdentity({ from: identity, proof })];
}
