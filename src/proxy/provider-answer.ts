// What a provider says of somebody, in our words.
import { z } from "zod";
import { type ProxyUser, proxyUser } from "./proxy-user.ts";

/** A login, or its renewal, at a provider. */
export type ProviderAnswer = {
  /** Who it is among the provider's users, always the same. */
  readonly subject: string;
  readonly user: ProxyUser;
  /** What the provider knows the login by at the logout. */
  readonly idToken: string | undefined;
  /** What asks whether the login still stands; `undefined`: it cannot be asked. */
  readonly refreshToken: string | undefined;
  /** How long the provider stands by this answer. */
  readonly validForMs: number;
};

const text = z.string().optional().catch(undefined);

/** The claims of an ID token or of the userinfo endpoint (OpenID Connect Core 1.0, 5.1); some send "true" for true. */
export const Claims = z.object({
  sub: z.string().min(1).max(255),
  email: text,
  email_verified: z.union([z.boolean(), z.stringbool()]).optional().catch(false),
  preferred_username: text,
  name: text,
  picture: text,
});
export type Claims = z.infer<typeof Claims>;

/**
 * The login is the e-mail address, unless the provider says that it was not verified; else the name that the user
 * prefers; else the subject. A name that looks like an address, of somebody whose address was not verified, is that
 * address by another door, and counts as little. `undefined`: nothing of it can be a login.
 */
export function userOfClaims(claims: Claims): ProxyUser | undefined {
  const { sub, email, email_verified: isVerified, preferred_username: preferred, name, picture } = claims;
  const isAddressInDisguise = isVerified === false && preferred?.includes("@") === true;
  return proxyUser({
    logins: [isVerified === false ? undefined : email, isAddressInDisguise ? undefined : preferred, sub],
    ...{ name, picture },
  });
}

/** What the ID token says, and what it does not say by the userinfo endpoint; an address with its own verification. */
export function mergedClaims(idToken: Claims, userInfo: Claims): Claims {
  const { email, email_verified } = idToken.email === undefined ? userInfo : idToken;
  const { preferred_username: preferred, name, picture } = userInfo;
  return {
    sub: idToken.sub,
    ...{ email, email_verified },
    preferred_username: idToken.preferred_username ?? preferred,
    name: idToken.name ?? name,
    picture: idToken.picture ?? picture,
  };
}
