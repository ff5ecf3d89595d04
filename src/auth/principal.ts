/** Who a request comes from, and how we know. */
export type Principal = {
  readonly user: string;
  /**
   * "none": the server asks nobody. "socket": whoever can open the private unix socket is its owner. "basic": the
   * credentials of an HQ. "hq": on a remote, its HQ.
   */
  readonly method: "none" | "socket" | "token" | "ticket" | "basic" | "hq";
  /** The `jti` of the access token behind it: what a logout revokes. */
  readonly tokenId?: string;
  /** When that token ends, in milliseconds since 1970. */
  readonly expiresAtMs?: number;
};
