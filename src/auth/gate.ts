// Creates everything about logging in from the configuration.
import { setTimeout } from "node:timers/promises";
import { z } from "zod";
import type { LoginConfig } from "../config/login.ts";
import type { RecordStore, SharedRecordStore, TicketStore } from "../lib/data/live-records.ts";
import { Tally } from "../lib/data/tally.ts";
import type { Credentials, Secret } from "../lib/secret.ts";
import type { Log } from "../log.ts";
import type { AuthConfig } from "../protocol/schemas/auth.ts";
import { checkAccounts } from "./accounts/account-check.ts";
import type { Accounts } from "./accounts/accounts.ts";
import {
  admission,
  byBearer,
  byLocalBypass,
  byMachineToken,
  byProxyIdentity,
  byQueryToken,
  chain,
  everyoneIs,
  type LoginWatch,
  openRegistry,
  type RequestClaims,
  type Way,
} from "./chain.ts";
import { Login } from "./login.ts";
import type { FactorStore } from "./passkey/factor-store.ts";
import { PendingFactor, SecondFactor } from "./passkey/second-factor.ts";
import { LoginAttempts } from "./password/attempts.ts";
import { byBasic } from "./password/basic.ts";
import type { LoginGroup } from "./password/login-questions.ts";
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
import { type Users, usersOf } from "./users.ts";

export type GateOptions = {
  readonly config: LoginConfig;
  readonly serverUser: string;
  readonly isRoot: boolean;
  /** The server user's home, for its authorized_keys. */
  readonly serverHome: string;
  readonly tokenSecret: Secret | undefined;
  /** Keeps a generated secret if no option gives one. */
  readonly secretFile: string;
  /** Logins, share links and tickets; not called in mode "none". */
  readonly openRecords: () => Promise<RecordStore>;
  /** Of HQs that share their records. */
  readonly group?: (LoginGroup & Pick<SharedRecordStore, "failedLogins">) | undefined;
  /** Passkeys after a password. */
  readonly openFactors: () => Promise<FactorStore>;
  readonly log: Log;
  readonly accounts: Accounts;
  /** On an HQ: the pair that Basic must prove. */
  readonly hqCredentials?: Credentials | undefined;
  /** On an HQ without such a pair: remotes join without proof. */
  readonly openRegistration?: boolean;
  /** On a remote: the token of its HQ, new at each start. */
  readonly machineToken?: Secret | undefined;
  /** The proof of our own reverse proxy, for `identity` "own-proxy". */
  readonly proxyProof: Secret;
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
  readonly attempts: LoginAttempts;
};

/** Only this server writes tickets. */
const Holder = z.custom<Principal>((value) => typeof value === "object" && value !== null);

type LoginModes = Extract<LoginConfig, { readonly mode: "login" }>;

/** For mode "none", in which nobody but the server's user is known. */
const NO_LOGIN: LoginModes = {
  ...{ mode: "login", password: undefined, requireSecondFactor: false, idleTimeoutMs: undefined },
  ...{ sshKeys: false, loginLink: false, identity: undefined, localBypass: undefined },
  ...{ allowUsers: [], adminUsers: [], roles: [] },
};

export async function createGate(options: GateOptions): Promise<Gate> {
  const { config, serverUser, isRoot, log, accounts } = options;
  const hasLogin = config.mode === "login";
  const modes = hasLogin ? config : NO_LOGIN;
  const now = (): number => Date.now();
  const records = hasLogin ? await options.openRecords() : memoryRecords(now);
  const loginRecords = new LoginRecords({ records, now, idleMs: modes.idleTimeoutMs, log });
  // In mode "none" anyone gets tokens, so they must not outlive this start.
  const secret = hasLogin
    ? (options.tokenSecret ?? (await keptTokenSecret(options.secretFile, log)))
    : passingTokenSecret();
  const shares = hasLogin ? new Shares({ secret, records, now }) : undefined;
  const tokens = new AccessTokens({ secret, records, logins: loginRecords, shares, now });
  const configuredUser = modes.password?.kind === "configured" ? modes.password.username : undefined;
  const users = usersOf({ ...modes, serverUser, isRoot, configuredUser });
  const password = await passwordCheckOf(modes, options, users);
  const parts = {
    ...{ tokens, loginRecords, shares, users },
    tickets: new Tickets(WS_TICKETS, Holder, records.tickets),
    links: new Tickets(LOGIN_LINKS, z.string(), records.tickets),
    secondFactor: password && (await secondFactorOf(modes, options, records.tickets)),
    attempts: new LoginAttempts(() => performance.now(), options.group?.failedLogins),
    logins: loginTally(),
  };
  const login = new Login({
    ...{ ...parts, log, group: options.group },
    password: hasLogin ? password : "not required",
    keys: modes.sshKeys ? keyLoginOf(options, users, records.tickets) : undefined,
  });
  const prove = chain(waysOf(modes, options, parts));
  const groups = groupsOf(modes, options);
  const admit = admission(users, groups);
  const checked = checkAccounts(
    {
      authenticate: async (request) => await admit(await prove(request), request),
      whenOver: (principal, over) => tokens.whenOver(principal, over),
    },
    {
      ...{ accounts, log, users, groupsOf: groups, creatorOf: (shareId) => shares?.creatorOf(shareId) },
      hasSystemUsers: isRoot || modes.password?.kind === "system" || modes.sshKeys,
    },
  );
  return { ...parts, ...checked, login, config: configOf(options, password !== undefined) };
}

function configOf({ config, serverUser }: GateOptions, hasPassword: boolean): AuthConfig {
  if (config.mode === "none") {
    const disallowUserPassword = config.isPasswordDisallowed;
    return { enableSSHKeys: false, disallowUserPassword, noAuth: true, proxyAuth: false, user: serverUser };
  }
  return {
    enableSSHKeys: config.sshKeys,
    disallowUserPassword: config.password === undefined,
    noAuth: false,
    ...(hasPassword && config.password ? { passwordMode: config.password.kind } : {}),
    proxyAuth: config.identity !== undefined,
  };
}

function loginTally(): Gate["logins"] {
  const kinds = ["password", "second-factor", "link", "ssh-key", "oidc"].flatMap((method) =>
    ["ok", "refused", "limited", "failed"].map((result) => [method, result]),
  );
  return new Tally("method", "result").expecting(...kinds, ["basic", "refused"]);
}

async function secondFactorOf(
  { requireSecondFactor }: LoginModes,
  { openFactors }: GateOptions,
  tickets: TicketStore,
): Promise<SecondFactor> {
  return new SecondFactor({
    store: await openFactors(),
    pending: new Tickets(SECOND_FACTORS, PendingFactor, tickets),
    enrolmentCodes: new Tickets(ENROLMENT_CODES, z.string(), tickets),
    isRequired: requireSecondFactor,
    now: () => new Date(),
  });
}

/** `undefined`: no login by password. */
async function passwordCheckOf(
  { password, allowUsers, adminUsers, roles, sshKeys, loginLink, identity, localBypass }: LoginModes,
  { serverUser, isRoot, log, accounts, machineToken }: GateOptions,
  users: Users,
): Promise<PasswordCheck | undefined> {
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

function keyLoginOf(
  { serverHome, log, accounts }: GateOptions,
  users: Users,
  tickets: TicketStore,
): KeyLogin {
  const wallClock = (): number => Date.now();
  const isKeyOf = userKeys({ accounts, users, ownHome: serverHome, now: wallClock, log });
  const clocks = { now: (): number => performance.now(), wallClock, pause: setTimeout };
  return new KeyLogin({ isKeyOf, users, tickets, ...clocks });
}

/** In the order in which they are asked. */
function waysOf(
  { identity, localBypass }: LoginModes,
  options: GateOptions,
  parts: Pick<Gate, "tokens" | "tickets" | "users" | "attempts" | "logins">,
): readonly Way[] {
  const { config, serverUser, machineToken, hqCredentials: credentials, log } = options;
  const { tokens, tickets, users } = parts;
  const ways: Way[] = machineToken === undefined ? [] : [byMachineToken(machineToken, { serverUser, users })];
  if (config.mode === "none") return [...ways, everyoneIs(serverUser, "none")];
  ways.push(byBearer(tokens), byQueryToken(tokens, tickets, identity));
  if (identity !== undefined) ways.push(byProxyIdentity(identity, options.proxyProof));
  if (localBypass !== undefined) ways.push(byLocalBypass(serverUser, localBypass.token));
  // After better proofs, because a Basic header may be the login of a proxy in front.
  if (credentials !== undefined) ways.push(byBasic({ ...parts, credentials, log }));
  if (options.openRegistration === true) ways.push(openRegistry(serverUser));
  return ways;
}

/** Of the users of this system; not looked up unless an option gives a role to a group. */
function groupsOf(
  { roles, password, sshKeys }: LoginModes,
  { accounts }: GateOptions,
): ((user: string) => Promise<readonly string[]>) | undefined {
  const isOfSystem = password?.kind === "system" || sshKeys;
  return isOfSystem && roles.some((rule) => "group" in rule) ? (user) => accounts.groups(user) : undefined;
}
