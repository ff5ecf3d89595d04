const WIDE =
  /\p{Emoji_Presentation}|[\u1100-\u115f\u2e80-\u303e\u3041-\ua4cf\ua960-\ua97c\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60\uffe0-\uffe6\u{20000}-\u{3fffd}]/u;

/** Columns of a terminal that a character takes: two for East Asian scripts, full-width forms and emoji (Unicode TR 11). */
export function characterWidth(character: string): 1 | 2 {
  return WIDE.test(character) ? 2 : 1;
}
