// What a provider says of somebody, in our words.
import { z } from "zod";
import { emailAddress, type ProxyUser, plainName, proxyUser } from "../proxy-user.ts";

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

/** Which claims count, and for whom, by the options. */
export type ClaimRules = {
  /** The claim that is trusted as the user name; `undefined`: an email that the provider has verified. */
  readonly nameClaim: string | undefined;
  /** Each of these claims must have one of its values. */
  readonly required: ReadonlyMap<string, readonly string[]>;
  /** The users that options name, issuer and subject among them. */
  readonly named: ReadonlySet<string>;
  /** The claim that holds groups, and the groups to which options give a role. */
  readonly groupsClaim?: string | undefined;
  readonly groups?: ReadonlySet<string>;
};

/**
 * The login is `issuer#subject` where an option names that, else the trusted claim or the verified email, else
 * `issuer#subject`, which an allow list of `*` lets in. Everything else is the user's own choice at many providers.
 * `undefined`: nothing of it can be a login.
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
  const all = z.array(z.unknown()).safeParse(groupsClaim === undefined ? [] : claims[groupsClaim]).data ?? [];
  return all.filter((each) => typeof each === "string").filter((each) => groups.has(each));
}

/** The claim that is required and does not have any of its values; `undefined`: they all do. */
export function missingClaim(claims: Claims, { required }: Pick<ClaimRules, "required">): string | undefined {
  for (const [claim, values] of required) {
    const said = claims[claim];
    const all: readonly unknown[] = Array.isArray(said) ? said : [said];
    if (!all.some((each) => typeof each === "string" && values.includes(each))) return claim;
  }
  return undefined;
}

/** The claims of the ID token, completed by those of the userinfo endpoint; an email with its own verification. */
export function mergedClaims(idToken: Claims, userInfo: Claims): Claims {
  const { email, email_verified } = idToken.email === undefined ? userInfo : idToken;
  const said = Object.entries(idToken).filter(([, value]) => value !== undefined);
  return { ...userInfo, ...Object.fromEntries(said), sub: idToken.sub, email, email_verified };
}
