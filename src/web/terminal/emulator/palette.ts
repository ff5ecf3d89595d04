import type { ITheme } from "@xterm/xterm";
import type { ColorScheme } from "../../color-scheme.ts";

const DARK: ITheme = {
  background: "#0b0e13",
  foreground: "#d6dbe4",
  cursor: "#4fdca0",
  cursorAccent: "#0b0e13",
  selectionBackground: "#2d4a63",
  selectionInactiveBackground: "#3a4f66",
  scrollbarSliderBackground: "#ffffff1f",
  scrollbarSliderHoverBackground: "#ffffff38",
  scrollbarSliderActiveBackground: "#ffffff4d",
  overviewRulerBorder: "#00000000",
  black: "#3a4352",
  red: "#f2747d",
  green: "#5fd28c",
  yellow: "#e6c067",
  blue: "#6ea8fe",
  magenta: "#c994ee",
  cyan: "#53cfd8",
  white: "#c6cdd9",
  brightBlack: "#667085",
  brightRed: "#ff949b",
  brightGreen: "#86e8ad",
  brightYellow: "#f7d98c",
  brightBlue: "#98c3ff",
  brightMagenta: "#deb6fa",
  brightCyan: "#82e7ee",
  brightWhite: "#f4f6fa",
};

const LIGHT: ITheme = {
  background: "#ffffff",
  foreground: "#1d2430",
  cursor: "#0a7d53",
  cursorAccent: "#ffffff",
  selectionBackground: "#bfe0f5",
  selectionInactiveBackground: "#dfe6ee",
  scrollbarSliderBackground: "#0000001f",
  scrollbarSliderHoverBackground: "#00000038",
  scrollbarSliderActiveBackground: "#0000004d",
  overviewRulerBorder: "#00000000",
  black: "#1d2430",
  red: "#c02b3c",
  green: "#14804a",
  yellow: "#8f6400",
  blue: "#1a5fc8",
  magenta: "#8438b4",
  cyan: "#0a7580",
  white: "#5a6474",
  brightBlack: "#6b7585",
  brightRed: "#d4404f",
  brightGreen: "#1b9459",
  brightYellow: "#a67400",
  brightBlue: "#2f77e0",
  brightMagenta: "#9c4fcb",
  brightCyan: "#138894",
  brightWhite: "#303846",
};

export function terminalTheme(scheme: ColorScheme): ITheme {
  return scheme === "dark" ? DARK : LIGHT;
}

/** Programs choose colours for other palettes, and black on black: what is too faint is made readable (WCAG AA). */
export const MIN_CONTRAST = 4.5;

/** Matches of a search, and the one that is looked at. */
export function searchColors(scheme: ColorScheme) {
  const dark = scheme === "dark";
  return {
    matchBackground: dark ? "#5b4a12" : "#ffe9a8",
    matchOverviewRuler: dark ? "#c9a227" : "#d19a00",
    activeMatchBackground: dark ? "#c9a227" : "#ffc53d",
    activeMatchColorOverviewRuler: dark ? "#ffd75e" : "#b07d00",
  } as const;
}
