import type { Profile } from "../lib/profile.ts";
import type { Permission } from "../protocol/schemas/permission.ts";
import type { ViewerKind } from "../protocol/schemas/viewer.ts";
import type { Rights } from "./roles.ts";

/** The owner of the server's own sessions where a name is required; no user has this name. */
export const SERVERS_OWN = "";

/** Who sent a request, and how that was proved. */
export type Principal = {
  readonly user: string;
  /**
   * "none": no login. "socket": the owner of the private unix socket. "basic": an HQ's credentials. "hq": on a
   * remote, its HQ. "proxy": named by a reverse proxy. "local": from this machine, without login. "remote": a remote
   * with the credential that it got for its key.
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
  /** From a proxy. */
  readonly profile?: Profile;
  /** The owner of their sessions; `undefined`: the server itself. */
  readonly owner?: string | undefined;
  /** The system user that runs their programs; `undefined`: the server's. */
  readonly account?: string | undefined;
  /** The `jti` of the access token, which a logout revokes. */
  readonly tokenId?: string;
  /** When that token expires, in milliseconds since 1970. */
  readonly expiresAtMs?: number;
};

/** What a caller's connection is to others who watch the same session, and a guest's share link. */
export function watcherOf({ user, method, rights, tokenId }: Principal): Watcher {
  if (rights.kind === "invited") return { user, kind: "guest", shareId: tokenId };
  if (method === "hq") return { user, kind: "hq" };
  const isScoped = "scope" in rights && rights.scope !== undefined;
  return { user, kind: isScoped ? "api" : "login" };
}

type Watcher = { readonly user: string; readonly kind: ViewerKind; readonly shareId?: string | undefined };

/** A proof, before the user's rights are known. */
export type Proof = Omit<Principal, "rights"> &
  Partial<Pick<Principal, "rights">> & {
    readonly groups?: readonly string[];
    /** Of an API token: limits the user's permissions. */
    readonly scope?: readonly Permission[];
  };
