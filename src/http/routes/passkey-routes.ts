import type { Login } from "../../auth/login.ts";
import type { SecondFactor } from "../../auth/passkey/second-factor.ts";
import { ServiceError } from "../../protocol/errors.ts";
import type { Context, Routes } from "../route.ts";

/** The second factor of a login, and the passkeys of whoever is logged in. */
export function passkeyRoutes({
  login,
  secondFactor,
}: {
  readonly login: Pick<Login, "withSecondFactor">;
  readonly secondFactor: SecondFactor;
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
    createRecoveryCodes: async (_, context) => ({
      recoveryCodes: [...(await secondFactor.renewCodes(userOf(context)))],
    }),
  };
}

/** Whoever came in by anything but a login has no second factor here. */
function userOf({ principal }: Context): string {
  if (principal?.method === "token" && principal.rights.kind !== "invited") return principal.user;
  throw new ServiceError("forbidden", "passkeys are for those who log in with a password: log in first");
}
