/** No spaces, and nothing that is not seen: control characters, format characters, halves of characters. */
const LOGIN_NAME = /^[^\s\p{C}]{1,256}$/u;

/** Whether a proxy, a certificate or a provider may call somebody that: a login, or an e-mail address. */
export function isLoginName(text: string): boolean {
  return LOGIN_NAME.test(text);
}
