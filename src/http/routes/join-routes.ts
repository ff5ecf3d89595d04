import type { Principal } from "../../auth/principal.ts";
import type { AccessTokens } from "../../auth/tokens/access-token.ts";
import type { Joining } from "../../hq/joining/joining.ts";
import { ServiceError } from "../../protocol/errors.ts";
import type { Routes } from "../route.ts";

/** How remotes join an HQ with keys of their own (contract 10.4). */
export function joinRoutes(joining: Joining, tokens: Pick<AccessTokens, "issueRemote">): Routes {
  return {
    joinRemote: async ({ body }) => {
      const { id, name, enrolled } = await joining.join(body);
      return { ...tokens.issueRemote({ id, name }), remoteId: id, enrolled };
    },
    createJoinToken: ({ body }, { principal }) => joining.createToken(body, principal?.user),
    listJoinTokens: async () => [...(await joining.tokens())],
    revokeJoinToken: async ({ params }) => {
      await joining.revokeToken(params.tokenId);
      return { success: true };
    },
    listRemoteKeys: async () => [...(await joining.keys())],
    revokeRemoteKey: async ({ params }) => {
      await joining.revokeKey(params.name);
      return { success: true };
    },
  };
}

/** Decides who may register, refresh and unregister which remote. */
export class RegistrationGuard {
  readonly #joining: Pick<Joining, "isKnown">;
  readonly #isBasicTaken: boolean;

  constructor(options: { readonly joining: Pick<Joining, "isKnown">; readonly isBasicTaken: boolean }) {
    this.#joining = options.joining;
    this.#isBasicTaken = options.isBasicTaken;
  }

  /** Throws `forbidden`. Of a remote's own credential, `remote` has to be what it is for, and its key has to be known still. */
  async check(
    principal: Principal | undefined,
    remote: { readonly id?: string | undefined; readonly name?: string | undefined },
  ): Promise<void> {
    if (principal?.method === "basic" && !this.#isBasicTaken) {
      const message =
        "no remote is registered with the password of this HQ (--no-basic-join): start the remote with --join-token-file";
      throw new ServiceError("forbidden", message);
    }
    if (principal?.rights.kind !== "remote") return;
    const { id, name } = principal.rights;
    if ((remote.id ?? id) !== id || (remote.name ?? name) !== name) {
      throw new ServiceError("forbidden", `this credential is for the remote ${name} and no other`);
    }
    if (!(await this.#joining.isKnown({ id, name }))) {
      throw new ServiceError(
        "forbidden",
        `the key of the remote ${name} was revoked: it needs a new join token`,
      );
    }
  }
}
