// A user's display name and picture, as reported by a proxy, a certificate or a provider.
export type Profile = {
  readonly name: string | undefined;
  /** An https URL. */
  readonly picture: string | undefined;
};

const MAX_NAME_LENGTH = 256;
const PICTURE_URL = /^https:\/\/[!-~]{1,2000}$/;
const UNSEEN = /[\p{Cc}\p{Cf}\p{Cs}\p{Co}\p{Zl}\p{Zp}]/gu;

/** Leaves out invalid members. */
export function shownProfile(said: Partial<Profile>): Profile {
  const name = said.name?.replaceAll(UNSEEN, "").trim().slice(0, MAX_NAME_LENGTH).toWellFormed();
  const { picture } = said;
  const isAddress = picture !== undefined && PICTURE_URL.test(picture) && URL.canParse(picture);
  return { name: name === "" ? undefined : name, picture: isAddress ? picture : undefined };
}

/** No spaces and no invisible characters. */
const LOGIN_NAME = /^[^\s\p{C}]{1,256}$/u;

/** Whether the text may be a login or e-mail address. */
export function isLoginName(text: string): boolean {
  return LOGIN_NAME.test(text);
}
