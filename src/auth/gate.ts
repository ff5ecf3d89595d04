// Everything about logging in, put together from the configuration.
import type { Credentials } from "../lib/credentials.ts";
import type { Secret } from "../lib/secret.ts";
import type { Log } from "../log.ts";
import type { AuthConfig } from "../protocol/auth.ts";
import { AccessTokens } from "./access-token.ts";
import { allowedUsers } from "./allowed-users.ts";
import { LoginAttempts } from "./attempts.ts";
import { byBasic } from "./basic.ts";
import {
  type Authenticator,
  byBearer,
  byQueryToken,
  chain,
  everyoneIs,
  type LoginWatch,
  onlyFor,
  openRegistry,
  type RequestFacts,
} from "./chain.ts";
import { Login } from "./login.ts";
import { byMachineToken } from "./machine-token.ts";
import { configuredPassword } from "./password-login.ts";
import type { Principal } from "./principal.ts";
import { Revocations } from "./revocations.ts";
import { keptTokenSecret, passingTokenSecret } from "./secret.ts";
import { LOGIN_LINKS, Tickets, WS_TICKETS } from "./tickets.ts";

export type GateOptions = {
  readonly mode:
    | { readonly mode: "none" }
    | {
        readonly mode: "login";
        readonly password: Credentials | undefined;
        readonly allowUsers: readonly string[];
      };
  readonly serverUser: string;
  readonly tokenSecret: Secret | undefined;
  /** Where the secret and the list of revoked tokens are kept. */
  readonly files: { readonly secret: string; readonly revokedTokens: string };
  readonly log: Log;
  /** On an HQ: what Basic has to prove. */
  readonly hqCredentials?: Credentials | undefined;
  /** On an HQ without them: machines join without any proof. */
  readonly openRegistration?: boolean;
  /** On a remote: what its HQ proves itself with, new at each start. */
  readonly machineToken?: Secret | undefined;
};

/** What the server's doors and routes need to know who asks. */
export type Gate = {
  readonly authenticate: (facts: RequestFacts) => Promise<Principal>;
  /** For what goes on for as long as a login does: a socket, a stream. */
  readonly whenOver: LoginWatch;
  readonly login: Login;
  readonly tokens: AccessTokens;
  readonly tickets: Tickets<Principal>;
  readonly links: Tickets<string>;
  readonly config: AuthConfig;
};

export async function createGate(options: GateOptions): Promise<Gate> {
  const { mode, serverUser, log, files } = options;
  const now = (): number => Date.now();
  const monotonic = (): number => performance.now();
  const revocations = await Revocations.open({ path: files.revokedTokens, now, log });
  // Tokens that anyone may have must not outlive the mode in which anyone may have them.
  const secret =
    mode.mode === "none"
      ? passingTokenSecret()
      : (options.tokenSecret ?? (await keptTokenSecret(files.secret, log)));
  const tokens = new AccessTokens({ secret, revocations, now });
  const tickets = new Tickets<Principal>(WS_TICKETS, monotonic);
  const links = new Tickets<string>(LOGIN_LINKS, monotonic);
  const pair = mode.mode === "login" ? mode.password : undefined;
  const attempts = new LoginAttempts(monotonic);
  const login = new Login({
    ...{ serverUser, tokens, links, log, attempts },
    mode: mode.mode === "none" ? mode : { mode: "login", password: pair && configuredPassword(pair) },
    defaultUser: pair?.username ?? serverUser,
  });
  return {
    ...{ login, tokens, tickets, links },
    authenticate: chain(waysOf(options, { tokens, tickets, attempts })),
    whenOver: (principal, over) => tokens.whenOver(principal, over),
    config: {
      enableSSHKeys: false,
      disallowUserPassword: mode.mode === "login" && pair === undefined,
      noAuth: mode.mode === "none",
      ...(pair === undefined ? {} : { passwordMode: "configured" }),
      proxyAuth: false,
      ...(mode.mode === "none" ? { user: serverUser } : {}),
    },
  };
}

/** In the order in which they are asked. */
function waysOf(
  options: GateOptions,
  parts: Pick<Gate, "tokens" | "tickets"> & { readonly attempts: LoginAttempts },
): readonly Authenticator[] {
  const { mode, serverUser, hqCredentials, openRegistration = false, machineToken, log } = options;
  const { tokens, tickets, attempts } = parts;
  const machine = machineToken === undefined ? [] : [byMachineToken(machineToken, serverUser)];
  if (mode.mode === "none") return [...machine, everyoneIs(serverUser, "none")];
  const { password, allowUsers } = mode;
  const mayLogIn = allowedUsers({ serverUser, configuredUser: password?.username, allowUsers });
  return [
    ...machine,
    ...[byBearer(tokens), byQueryToken(tokens, tickets)].map((way) => onlyFor(mayLogIn, way)),
    // A Basic header may be the login of a proxy in front, and counts for nothing where there is a better proof.
    ...(hqCredentials === undefined ? [] : [byBasic({ credentials: hqCredentials, attempts, log })]),
    ...(openRegistration ? [openRegistry(serverUser)] : []),
  ];
}
