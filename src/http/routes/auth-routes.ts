import type { Gate } from "../../auth/gate.ts";
import type { Login } from "../../auth/login.ts";
import type { SecondFactor } from "../../auth/passkey/second-factor.ts";
import type { Principal } from "../../auth/principal.ts";
import { permissionsOf } from "../../auth/roles.ts";
import { ServiceError } from "../../protocol/errors.ts";
import {
  ENROLMENT_CODE_LIFETIME_S,
  LOGIN_LINK_LIFETIME_MS,
  WS_TICKET_LIFETIME_MS,
} from "../../protocol/limits.ts";
import type { AuthConfig } from "../../protocol/schemas/auth.ts";
import type { Context, Routes } from "../route.ts";

/** Logging in and out (contract 5), including old names (facts 4.1). */
export function authRoutes(
  parts: Pick<Gate, "login" | "secondFactor" | "users" | "tickets" | "config"> & {
    readonly newLoginLink: () => Promise<string>;
    /** 0: file transfer is off, and its permission is not reported. */
    readonly maxUploadBytes: number;
  },
): Routes {
  const { login, secondFactor, users, tickets, config, newLoginLink, maxUploadBytes } = parts;
  return {
    ...(secondFactor === undefined ? {} : passkeyRoutes(login, secondFactor, users)),
    authConfig: async (_, { identified }) => {
      const principal = await identified();
      const { logoutPath, ...others } = config;
      if (principal === undefined) return others;
      const { user, method } = principal;
      if (method !== "proxy") return { ...others, user };
      return { ...others, user, ...(logoutPath === undefined ? {} : { logoutPath }), ...namedBy(principal) };
    },
    currentUser: async () => ({ userId: login.defaultUser }),
    ...passwordRoutes(login),
    createChallenge: async ({ body }) => login.challenge(body.userId),
    sshLogin: async ({ body }, { address, client }) => login.withKey({ ...body, address, client }),
    sshKeyLogin: async ({ body }, { address, client }) => {
      const { token, user } = await login.withKey({ ...body, address, client });
      return { success: true, token, userId: user, authMethod: "ssh-key" };
    },
    createLoginLink: async (_, context) => {
      if (context.principal.method !== "socket")
        throw new ServiceError("forbidden", "create login links on the server's machine: ttyhq login-link");
      return { url: await newLoginLink(), expiresIn: LOGIN_LINK_LIFETIME_MS / 1000 };
    },
    verifyToken: async (_, { principal: { user, rights } }) => {
      const permissions = permissionsOf(rights).filter(
        (each) => each !== "sessions:files" || maxUploadBytes > 0,
      );
      return { valid: true, userId: user, permissions };
    },
    createWsTicket: async (_, { principal }) => ({
      ticket: await tickets.issue(principal),
      expiresIn: WS_TICKET_LIFETIME_MS / 1000,
    }),
    logout: async (_, { principal }) => {
      await login.logOut(principal);
      return { success: true, message: "Logged out successfully" };
    },
  };
}

function passwordRoutes(login: Login): Routes {
  return {
    createToken: async ({ body: { ticket, ...pair } }, { address, client, origin }) =>
      ticket === undefined
        ? login.withPassword({ ...pair, address, client, origin })
        : login.withLink({ ticket, address, client }),
    answerLogin: async ({ body }, { address }) => await login.withAnswers({ ...body, address }),
    passwordLogin: async ({ body }, { address, client, origin }) => {
      const { token, user } = await login.withPassword({
        username: body.userId,
        password: body.password,
        ...{ address, client, origin },
      });
      return { success: true, token, userId: user, authMethod: "password" };
    },
  };
}

function namedBy({ user, profile }: Pick<Principal, "user" | "profile">): Partial<AuthConfig> {
  const { name = user, picture } = profile ?? {};
  const proxyUser = { login: user, name, ...(picture === undefined ? {} : { profilePic: picture }) };
  return { proxyUser, tailscaleAuth: true, authenticatedUser: user, tailscaleUser: proxyUser };
}

/** The second factor of a login, and the user's passkeys. */
function passkeyRoutes(
  login: Login,
  secondFactor: SecondFactor,
  users: Pick<Gate["users"], "mayLogIn">,
): Routes {
  return {
    secondFactor: async ({ body }, { address, client }) =>
      await login.withSecondFactor({ ...body, address, client }),
    listPasskeys: async (_, context) => await secondFactor.list(userOf(context)),
    passkeyOptions: async (_, context) => await secondFactor.offer(userOf(context), context.origin),
    createPasskey: async ({ body }, context) => await secondFactor.add(userOf(context), body),
    removePasskey: async ({ params }, context) => {
      await secondFactor.remove(userOf(context), params.passkeyId);
      return { success: true };
    },
    createEnrolmentCode: async ({ body: { user } }) => {
      if (!users.mayLogIn(user)) throw new ServiceError("invalid_request", `${user} may not log in here`);
      return { code: await secondFactor.newEnrolmentCode(user), expiresIn: ENROLMENT_CODE_LIFETIME_S };
    },
    createRecoveryCodes: async (_, context) => ({
      recoveryCodes: [...(await secondFactor.renewCodes(userOf(context)))],
    }),
  };
}

/** Only logins have a second factor. */
function userOf({ principal }: Context): string {
  if (principal.method === "token" && principal.rights.kind !== "invited") return principal.user;
  throw new ServiceError("forbidden", "passkeys are for those who log in with a password: log in first");
}
