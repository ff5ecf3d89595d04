import type { Profile } from "../lib/profile.ts";
import type { Permission } from "../protocol/schemas/permission.ts";
import type { Rights } from "./roles.ts";

/** In place of an owner's name where there has to be one: the server's own, which no user is called. */
export const SERVERS_OWN = "";

/** Who a request comes from, and how we know. */
export type Principal = {
  readonly user: string;
  /**
   * "none": the server asks nobody. "socket": whoever can open the private unix socket is its owner. "basic": the
   * credentials of an HQ. "hq": on a remote, its HQ. "proxy": a reverse proxy proved who it is. "local": a request of
   * this machine, which counts without a login. "api-token": a token with a scope. "share": a share link. "remote": a remote, by the credential
   * that it got for its key.
   */
  readonly method:
    | "none"
    | "socket"
    | "token"
    | "api-token"
    | "ticket"
    | "basic"
    | "hq"
    | "proxy"
    | "local"
    | "share"
    | "remote";
  readonly rights: Rights;
  /** With "proxy": what else it says of the user. */
  readonly profile?: Profile;
  /** Under which name their sessions are owned; `undefined`: they are the server's own, which have no name. */
  readonly owner?: string | undefined;
  /** The system user that their programs run as; `undefined`: the server's own. */
  readonly account?: string | undefined;
  /** The `jti` of the access token behind it: what a logout revokes. */
  readonly tokenId?: string;
  /** When that token ends, in milliseconds since 1970. */
  readonly expiresAtMs?: number;
};

/** Who a proof names, before it is known what that user may do. */
export type Proof = Omit<Principal, "rights"> &
  Partial<Pick<Principal, "rights">> & {
    readonly groups?: readonly string[];
    /** Of an API token: it has no more of what the user may do. */
    readonly scope?: readonly Permission[];
  };
