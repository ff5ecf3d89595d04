/** Who a request comes from, and how we know. */
export type Principal = {
  readonly user: string;
  /** "none": the server asks nobody. "socket": whoever can open the private unix socket is its owner. */
  readonly method: "none" | "socket" | "token" | "ticket";
  /** The `jti` of the access token behind it: what a logout revokes. */
  readonly tokenId?: string;
  /** When that token ends, in milliseconds since 1970. */
  readonly expiresAtMs?: number;
};
