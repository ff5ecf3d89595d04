// The style of a cell, from the bits of xterm.js, and the SGR that sets it.
import { CellAttribute, type CellColour } from "../../../protocol/frame/snapshot-cell.ts";
import type { CoreAttributes, CoreExtended, CoreLine } from "./core.ts";

export type Style = {
  /** Colour and flags, without unused bits. */
  readonly fg: number;
  readonly bg: number;
  /** 0 none, 1 single, 2 double, 3 curly, 4 dotted, 5 dashed. */
  readonly underline: number;
  /** A colour as in `fg`; 0 is that of the text. */
  readonly underlineColor: number;
  /** An id of links.ts; 0 is no link. */
  readonly link: number;
};

export const PLAIN: Style = { fg: 0, bg: 0, underline: 0, underlineColor: 0, link: 0 };

/** Of `fg`. */
export const UNDERLINED = 0x10000000;
/** Of `bg`: underline style, underline colour or a link are stored separately. */
export const EXTENDED = 0x10000000;
const PROTECTED = 0x20000000;

type Attribute = {
  /** The parameter that sets it. */
  readonly sgr: string;
  /** The bit in `fg` or in `bg`; the underline has a member of its own. */
  readonly fg?: number;
  readonly bg?: number;
  /** In texts and snapshots, which do not show all. */
  readonly name?: string;
  readonly bit?: number;
};

const ATTRIBUTES: readonly Attribute[] = [
  { sgr: "1", fg: 0x8000000, name: "bold", bit: CellAttribute.Bold },
  { sgr: "2", bg: 0x8000000, name: "dim", bit: CellAttribute.Dim },
  { sgr: "3", bg: 0x4000000, name: "italic", bit: CellAttribute.Italic },
  { sgr: "4", name: "underline", bit: CellAttribute.Underline },
  { sgr: "5", fg: 0x20000000 },
  { sgr: "7", fg: 0x4000000, name: "inverse", bit: CellAttribute.Inverse },
  { sgr: "8", fg: 0x40000000, name: "invisible", bit: CellAttribute.Invisible },
  { sgr: "9", fg: 0x80000000, name: "strikethrough", bit: CellAttribute.Strikethrough },
  { sgr: "53", bg: 0x40000000 },
];

const COLOR_MODE = 0x3000000;
const PALETTE_16 = 0x1000000;
const PALETTE_256 = 0x2000000;
const RGB = 0x3000000;
const FLAGS = 0xfc000000;
/** The underline has a member of its own. */
const FG_FLAGS = FLAGS & ~UNDERLINED;
const BG_FLAGS = FLAGS & ~EXTENDED;
const UNDERLINE_STYLE = 0x1c000000;
const UNDERLINE_SHIFT = 26;

export function styleOf(attributes: CoreAttributes, extended: CoreExtended | undefined): Style {
  const { fg, bg } = attributes;
  const hasExtended = (bg & EXTENDED) !== 0 && extended !== undefined;
  const style = hasExtended ? underlineStyle(extended) : 1;
  const underline = (fg & UNDERLINED) === 0 ? 0 : style;
  const link = hasExtended ? extended.urlId : 0;
  return {
    fg: colorWord(fg) | (fg & FG_FLAGS),
    bg: colorWord(bg) | (bg & BG_FLAGS),
    underline,
    // Links are underlined as well.
    underlineColor: hasExtended && (underline !== 0 || link !== 0) ? colorWord(extended.underlineColor) : 0,
    link,
  };
}

export function cellStyle(line: CoreLine, column: number): Style {
  const attributes = { fg: line.getFg(column), bg: line.getBg(column) };
  return styleOf(attributes, line._extendedAttrs[column]);
}

/** Compares the styles of two cells; links and special underlines count as different. */
export function isStyledAlike(line: CoreLine, a: number, b: number): boolean {
  const bg = line.getBg(a);
  return line.getFg(a) === line.getFg(b) && bg === line.getBg(b) && (bg & EXTENDED) === 0;
}

/** The usual look of a cell that nothing was printed into. */
export function isBlank(line: CoreLine, column: number): boolean {
  return line.getFg(column) === 0 && line.getBg(column) === 0;
}

export function underlineStyle(extended: CoreExtended): number {
  return (extended._ext & UNDERLINE_STYLE) >>> UNDERLINE_SHIFT;
}

export function isSameStyle(a: Style, b: Style): boolean {
  return (
    a.fg === b.fg &&
    a.bg === b.bg &&
    a.underline === b.underline &&
    a.underlineColor === b.underlineColor &&
    a.link === b.link
  );
}

/** Whether erasing leaves this style: at most a background. */
export function isErasable(style: Style): boolean {
  return style.fg === 0 && (style.bg & FLAGS) === 0 && style.underline === 0 && style.link === 0;
}

export function hasDefaultBackground(style: Style): boolean {
  return (style.bg & COLOR_MODE) === 0;
}

export function colorOf(word: number): CellColour | undefined {
  const mode = word & COLOR_MODE;
  if (mode === 0) return undefined;
  if (mode !== RGB) return word & 0xff;
  return { r: (word >>> 16) & 0xff, g: (word >>> 8) & 0xff, b: word & 0xff };
}

export function attributesOf({ fg, bg, underline }: Style): readonly Attribute[] {
  // As most cells: snapshots ask about each of them.
  if (((fg | bg) & FLAGS) === 0 && underline === 0) return [];
  return ATTRIBUTES.filter(
    (each) =>
      (fg & (each.fg ?? 0)) !== 0 || (bg & (each.bg ?? 0)) !== 0 || (each.sgr === "4" && underline !== 0),
  );
}

/** Sets all of the style but its link, whatever was set before. */
export function sgr(style: Style): string {
  const { fg, bg, underline } = style;
  const flags = attributesOf(style).map((each) => each.sgr);
  const codes = ["0", ...flags.map((code) => (code === "4" && underline > 1 ? `4:${underline}` : code))];
  codes.push(...colorCodes(fg, 30), ...colorCodes(bg, 40), ...underlineColorCode(style.underlineColor));
  const protect = bg & PROTECTED ? '\x1b[1"q' : "";
  return `\x1b[${codes.length === 1 ? "" : codes.join(";")}m${protect}`;
}

/** `base` is 30 for the foreground, 40 for the background. */
function colorCodes(word: number, base: 30 | 40): string[] {
  const index = word & 0xff;
  switch (word & COLOR_MODE) {
    case PALETTE_16:
      return [`${index < 8 ? base + index : base + 60 + index - 8}`];
    case PALETTE_256:
      return [`${base + 8}`, "5", `${index}`];
    case RGB:
      return [`${base + 8}`, "2", `${(word >>> 16) & 0xff}`, `${(word >>> 8) & 0xff}`, `${index}`];
    default:
      return [];
  }
}

function underlineColorCode(word: number): string[] {
  const color = colorOf(word);
  if (color === undefined) return [];
  return [typeof color === "number" ? `58:5:${color}` : `58:2::${color.r}:${color.g}:${color.b}`];
}

/** The colour without flags and without bits of an earlier colour. */
export function colorWord(word: number): number {
  const mode = word & COLOR_MODE;
  if (mode === 0) return 0;
  return mode | (word & (mode === RGB ? 0xffffff : 0xff));
}
