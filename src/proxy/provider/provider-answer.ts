// Converts a provider's claims into a user.
import { z } from "zod";
import { emailAddress, ProxyUser, plainName, proxyUser } from "../proxy-user.ts";

export const ProviderAnswer = z.object({
  /** The provider's permanent id of the user. */
  subject: z.string(),
  user: ProxyUser,
  /** Identifies the login in a logout. */
  idToken: z.string().optional(),
  /** For renewals; `undefined`: not possible. */
  refreshToken: z.string().optional(),
  /** How long the answer is valid. */
  validForMs: z.number(),
});
export type ProviderAnswer = Readonly<z.infer<typeof ProviderAnswer>>;

const text = z.string().optional().catch(undefined);

/** Claims of an ID token or of userinfo (OpenID Connect Core 1.0, 5.1). Some providers send "true" for true. */
export const Claims = z.looseObject({
  sub: z.string().min(1).max(255),
  email: text,
  email_verified: z
    .union([z.boolean(), z.literal("true").transform(() => true)])
    .optional()
    .catch(false),
  name: text,
  picture: text,
});
export type Claims = z.infer<typeof Claims>;

export type ClaimRules = {
  /** The claim with the user name; `undefined`: the verified email. */
  readonly nameClaim: string | undefined;
  readonly required: ReadonlyMap<string, readonly string[]>;
  /** Users named by options, some as issuer and subject. */
  readonly named: ReadonlySet<string>;
  /** The claim with the groups, and the groups to which options give a role. */
  readonly groupsClaim?: string | undefined;
  readonly groups?: ReadonlySet<string>;
};

/**
 * The login is `issuer#subject` if an option names it, otherwise the name claim or the verified email, otherwise
 * `issuer#subject`. At many providers users choose everything else themselves. `undefined`: no valid login.
 */
export function userOfClaims(claims: Claims, issuer: string, rules: ClaimRules): ProxyUser | undefined {
  const { sub, email, email_verified: isVerified, name, picture } = claims;
  const bound = `${issuer}#${sub}`;
  const { nameClaim, named } = rules;
  const trusted = nameClaim === undefined ? undefined : plainName(text.parse(claims[nameClaim]));
  const verified = isVerified === true ? emailAddress(email) : undefined;
  const known = nameClaim === undefined ? verified : trusted;
  return proxyUser({
    logins: named.has(bound) ? [bound] : [known, bound],
    name,
    picture,
    groups: groupsOf(claims, rules),
  });
}

function groupsOf(claims: Claims, { groupsClaim, groups = new Set() }: ClaimRules): readonly string[] {
  const said: unknown = groupsClaim === undefined ? [] : claims[groupsClaim];
  return Array.isArray(said) ? said.filter((each) => groups.has(each)) : [];
}

/** The first required claim without an allowed value. */
export function missingClaim(claims: Claims, { required }: Pick<ClaimRules, "required">): string | undefined {
  for (const [claim, values] of required) {
    const said = claims[claim];
    const all: readonly unknown[] = Array.isArray(said) ? said : [said];
    if (!all.some((each) => typeof each === "string" && values.includes(each))) return claim;
  }
  return undefined;
}

/** Claims of the ID token, completed by the userinfo endpoint; an email keeps its own verification. */
export function mergedClaims(idToken: Claims, userInfo: Claims): Claims {
  const { email, email_verified } = idToken.email === undefined ? userInfo : idToken;
  const said = Object.entries(idToken).filter(([, value]) => value !== undefined);
  return { ...userInfo, ...Object.fromEntries(said), sub: idToken.sub, email, email_verified };
}
