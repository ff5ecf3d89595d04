import { isLoginName } from "../lib/login-name.ts";

/** Who somebody is, as a certificate or a provider says: what the headers `proxy-user-*` carry (specification 5.4). */
export type ProxyUser = {
  readonly login: string;
  readonly name: string | undefined;
  /** An https address. */
  readonly picture: string | undefined;
  /** Of those groups to which options give a role. */
  readonly groups?: readonly string[];
};

const MAX_NAME_LENGTH = 256;
const PICTURE = /^https:\/\/[!-~]{1,2000}$/;
const UNSEEN = /[\p{Cc}\p{Cf}\p{Cs}\p{Co}\p{Zl}\p{Zp}]/gu;
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
export function proxyUser(said: {
  readonly logins: readonly (string | undefined)[];
  readonly name?: string | undefined;
  readonly picture?: string | undefined;
  readonly groups?: readonly string[];
}): ProxyUser | undefined {
  const login = said.logins.find((each) => each !== undefined && isLoginName(each));
  if (login === undefined) return undefined;
  const name = said.name?.replaceAll(UNSEEN, "").trim().slice(0, MAX_NAME_LENGTH).toWellFormed();
  const { picture, groups = [] } = said;
  return {
    login,
    ...(groups.length === 0 ? {} : { groups }),
    name: name === "" ? undefined : name,
    picture: picture !== undefined && PICTURE.test(picture) ? picture : undefined,
  };
}
