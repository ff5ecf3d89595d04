/// <reference types="vite/client" />
import iconFontUrl from "@azurity/pure-nerd-font/PureNerdFont.woff2?url";

const OWN_FONTS = 'ui-monospace, "SF Mono", "Cascadia Mono", Menlo, Consolas, "DejaVu Sans Mono", monospace';
const ICONS = "ttyhq icons";
/** Private use area: powerline and the icons of Nerd Fonts. */
const ICON_RANGE = "U+23FB-23FE, U+2665, U+26A1, U+2B58, U+E000-F8FF, U+F0000-F2FFF";

/** A CSS value. `font`: a family that this device may have, or "". Icons appear once `loadIcons` has resolved. */
export function fontFamily(font: string, hasIcons: boolean): string {
  const chosen = font === "" ? [] : [`"${font}"`];
  return [...chosen, ...(hasIcons ? [`"${ICONS}"`] : []), OWN_FONTS].join(", ");
}

/** Loads 1 MB, once per page. Rejects if the font does not load. */
export async function loadIcons(fonts: FontFaceSet): Promise<void> {
  const known = [...fonts].find(({ family }) => family.replaceAll('"', "") === ICONS);
  if (known !== undefined) return void (await known.load());
  const face = new FontFace(ICONS, `url(${iconFontUrl})`, { unicodeRange: ICON_RANGE });
  fonts.add(face);
  await face.load();
}
