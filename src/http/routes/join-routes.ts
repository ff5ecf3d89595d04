import type { Principal } from "../../auth/principal.ts";
import type { AccessTokens } from "../../auth/tokens/access-token.ts";
import type { Joining } from "../../hq/joining/joining.ts";
import type { Registry } from "../../hq/registry/registry.ts";
import { ServiceError } from "../../protocol/errors.ts";
import type { Routes } from "../route.ts";

/** Remotes that join an HQ with their own keys (contract 10.4). */
export function joinRoutes(
  joining: Joining,
  tokens: Pick<AccessTokens, "issueRemote">,
  registry: Pick<Registry, "byName" | "forget">,
): Routes {
  return {
    joinRemote: async ({ body }) => {
      const { id, name, enrolled } = await joining.join(body);
      return { ...tokens.issueRemote({ id, name }), remoteId: id, enrolled };
    },
    createJoinToken: ({ body }, { principal }) => joining.createToken(body, principal.user),
    listJoinTokens: async () => [...(await joining.tokens())],
    revokeJoinToken: async ({ params }) => {
      await joining.revokeToken(params.tokenId);
      return { success: true };
    },
    listRemoteKeys: async () => [...(await joining.keys())],
    revokeRemoteKey: async ({ params: { name } }) => {
      try {
        await joining.revokeKey(name);
      } catch (error) {
        // An attempt that failed half-way may have left a remote without its key.
        const isMissing = error instanceof ServiceError && error.code === "remote_not_found";
        if (!isMissing || registry.byName(name)?.registeredByKey !== true) throw error;
      }
      await registry.forget(name);
      return { success: true };
    },
  };
}

/** Whether the caller may register, refresh and unregister that remote; if not, ServiceError `forbidden`. */
export type RegistrationGuard = (
  principal: Principal,
  remote: { readonly id?: string | undefined; readonly name?: string | undefined },
) => Promise<void>;

/** A remote's credential is for that remote only, and only until its key is revoked. */
export function registrationGuard(
  joining: Pick<Joining, "isKnown">,
  { isBasicTaken }: { readonly isBasicTaken: boolean },
): RegistrationGuard {
  return async (principal, remote) => {
    if (principal.method === "basic" && !isBasicTaken) {
      const message = "this HQ takes no password from remotes (--no-basic-join): use --join-token-file";
      throw new ServiceError("forbidden", message);
    }
    if (principal.rights.kind !== "remote") return;
    const { id, name } = principal.rights;
    if ((remote.id ?? id) !== id || (remote.name ?? name) !== name)
      throw new ServiceError("forbidden", `this credential is only for the remote ${name}`);
    if (await joining.isKnown({ id, name })) return;
    throw new ServiceError("forbidden", `the key of the remote ${name} was revoked: get a new join token`);
  };
}
