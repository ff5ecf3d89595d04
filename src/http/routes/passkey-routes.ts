import type { Login } from "../../auth/login.ts";
import type { SecondFactor } from "../../auth/passkey/second-factor.ts";
import type { Users } from "../../auth/users.ts";
import { ServiceError } from "../../protocol/errors.ts";
import { ENROLMENT_CODE_LIFETIME_S } from "../../protocol/limits.ts";
import type { Context, Routes } from "../route.ts";

/** The second factor of a login, and the user's passkeys. */
export function passkeyRoutes({
  login,
  secondFactor,
  users,
}: {
  readonly login: Pick<Login, "withSecondFactor">;
  readonly secondFactor: SecondFactor;
  readonly users: Pick<Users, "mayLogIn">;
}): Routes {
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
  if (principal?.method === "token" && principal.rights.kind !== "invited") return principal.user;
  throw new ServiceError("forbidden", "passkeys are for those who log in with a password: log in first");
}
