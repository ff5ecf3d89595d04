// OSC 52: a program writes text to the clipboard. Requests to read it are never answered.

/** Longer texts are ignored. */
const MAX_CHARACTERS = 1024 * 1024;

/** The text of `selection ; base64`; undefined if there is nothing to write. */
export function clipboardText(data: string): string | undefined {
  const [, base64 = ""] = /^[cps0-7]*;([A-Za-z0-9+/=\s]+)$/.exec(data) ?? [];
  if (base64 === "" || base64.length > (MAX_CHARACTERS * 4) / 3) return undefined;
  try {
    const bytes = Uint8Array.from(atob(base64), (character) => character.charCodeAt(0));
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch {
    return undefined;
  }
}
