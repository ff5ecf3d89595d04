import { isLoginName, type Profile, shownProfile } from "../lib/profile.ts";

/** Who somebody is, as a certificate or a provider says: what the headers `proxy-user-*` carry (specification 5.4). */
export type ProxyUser = Profile & {
  readonly login: string;
  /** Of those groups to which options give a role. */
  readonly groups?: readonly string[];
};

const EMAIL = /^[^\s@"(),:;<>[\]\\]+@[^\s@"(),:;<>[\]\\]+$/;
const SCHEME = "://";

export function emailAddress(text: string | undefined): string | undefined {
  return text !== undefined && EMAIL.test(text) ? text : undefined;
}

/** A name that somebody may have chosen: never one that looks like issuer and subject. */
export function plainName(text: string | undefined): string | undefined {
  return text === undefined || text.includes(SCHEME) ? undefined : text;
}

/** The first of these that can be a login; `undefined` where none can. What else is said is left out if it is odd. */
export function proxyUser(
  said: Partial<Profile> & {
    readonly logins: readonly (string | undefined)[];
    readonly groups?: readonly string[];
  },
): ProxyUser | undefined {
  const login = said.logins.find((each) => each !== undefined && isLoginName(each));
  if (login === undefined) return undefined;
  const { groups = [] } = said;
  return { login, ...(groups.length === 0 ? {} : { groups }), ...shownProfile(said) };
}
