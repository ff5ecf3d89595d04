import { z } from "zod";
import { isLoginName, type Profile, shownProfile } from "../lib/profile.ts";

/** A user as named by a certificate or a provider, sent in the headers `proxy-user-*` (specification 5.4). */
export const ProxyUser = z.object({
  login: z.string(),
  name: z.string().optional(),
  picture: z.string().optional(),
  /** Only groups to which options give a role. */
  groups: z.array(z.string()).readonly().optional(),
});
export type ProxyUser = Readonly<z.infer<typeof ProxyUser>>;

const EMAIL = /^[^\s@"(),:;<>[\]\\]+@[^\s@"(),:;<>[\]\\]+$/;
const SCHEME = "://";

export function emailAddress(text: string | undefined): string | undefined {
  return text !== undefined && EMAIL.test(text) ? text : undefined;
}

/** A name that users may choose must not look like issuer and subject. */
export function plainName(text: string | undefined): string | undefined {
  return text === undefined || text.includes(SCHEME) ? undefined : text;
}

/** The first valid login; `undefined` without one. Invalid profile members are left out. */
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
