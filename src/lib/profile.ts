// The name and the picture of somebody, as others say: a proxy, a certificate, a provider.
export type Profile = {
  readonly name: string | undefined;
  /** An https address. */
  readonly picture: string | undefined;
};

const MAX_NAME_LENGTH = 256;
const PICTURE_URL = /^https:\/\/[!-~]{1,2000}$/;
const UNSEEN = /[\p{Cc}\p{Cf}\p{Cs}\p{Co}\p{Zl}\p{Zp}]/gu;

/** What of it can be shown; the rest is left out. */
export function shownProfile(said: Partial<Profile>): Profile {
  const name = said.name?.replaceAll(UNSEEN, "").trim().slice(0, MAX_NAME_LENGTH).toWellFormed();
  const { picture } = said;
  const isAddress = picture !== undefined && PICTURE_URL.test(picture) && URL.canParse(picture);
  return { name: name === "" ? undefined : name, picture: isAddress ? picture : undefined };
}

/** No spaces, and nothing that is not seen: control characters, format characters, halves of characters. */
const LOGIN_NAME = /^[^\s\p{C}]{1,256}$/u;

/** Whether a proxy, a certificate or a provider may call somebody that: a login, or an e-mail address. */
export function isLoginName(text: string): boolean {
  return LOGIN_NAME.test(text);
}
