// The themes of the terminal. `test/unit/web/terminal/emulator/palette.test.ts` computes the contrast of their colours.
import type { ITheme } from "@xterm/xterm";
import type { ColorScheme } from "../../media-watch.ts";

export type Palette = {
  readonly words: string;
  readonly kind: ColorScheme;
  readonly background: string;
  readonly foreground: string;
  readonly cursor: string;
  readonly selection: string;
  /** The eight colours of the palette, then the eight bright ones. */
  readonly ansi: string;
};

export const PALETTES = {
  dark: {
    ...{ words: "ttyhq Dark", kind: "dark", background: "#0b0e13", foreground: "#d6dbe4" },
    ...{ cursor: "#4fdca0", selection: "#2d4a63" },
    ansi: `#3a4352 #f2747d #5fd28c #e6c067 #6ea8fe #c994ee #53cfd8 #c6cdd9
      #727b8f #ff949b #86e8ad #f7d98c #98c3ff #deb6fa #82e7ee #f4f6fa`,
  },
  light: {
    ...{ words: "ttyhq Light", kind: "light", background: "#ffffff", foreground: "#1d2430" },
    ...{ cursor: "#0a7d53", selection: "#bfe0f5" },
    ansi: `#1d2430 #c02b3c #14804a #8f6400 #1a5fc8 #8438b4 #0a7580 #5a6474
      #6b7585 #d03f4d #188550 #9c6d00 #2d72d7 #9c4fcb #12808b #303846`,
  },
  dracula: {
    ...{ words: "Dracula", kind: "dark", background: "#282a36", foreground: "#f8f8f2" },
    ...{ cursor: "#f8f8f2", selection: "#44475a" },
    ansi: `#21222c #ff5858 #50fa7b #f1fa8c #bd93f9 #ff79c6 #8be9fd #f8f8f2
      #8591b8 #ff6e6e #69ff94 #ffffa5 #d6acff #ff92df #a4ffff #ffffff`,
  },
  gruvboxDark: {
    ...{ words: "Gruvbox Dark", kind: "dark", background: "#282828", foreground: "#ebdbb2" },
    ...{ cursor: "#ebdbb2", selection: "#504945" },
    ansi: `#3c3836 #dd6e6a #98971a #d79921 #63999b #bf7e9c #689d6a #a89984
      #9b8d7f #fb5844 #b8bb26 #fabd2f #83a598 #d3869b #8ec07c #ebdbb2`,
  },
  gruvboxLight: {
    ...{ words: "Gruvbox Light", kind: "light", background: "#fbf1c7", foreground: "#3c3836" },
    ...{ cursor: "#3c3836", selection: "#d5c4a1" },
    ansi: `#3c3836 #cc241d #707013 #8e6516 #3d7578 #9c5676 #4d744e #776b60
      #786b5f #9d0006 #746f0d #946110 #076678 #8f3f71 #3f7654 #282828`,
  },
  nord: {
    ...{ words: "Nord", kind: "dark", background: "#2e3440", foreground: "#d8dee9" },
    ...{ cursor: "#d8dee9", selection: "#434c5e" },
    ansi: `#3b4252 #d08a91 #a3be8c #ebcb8b #81a1c1 #b793b0 #88c0d0 #e5e9f0
      #979da9 #d08a91 #a3be8c #ebcb8b #81a1c1 #b793b0 #8fbcbb #eceff4`,
  },
  oneDark: {
    ...{ words: "One Dark", kind: "dark", background: "#282c34", foreground: "#b4bbc7" },
    ...{ cursor: "#528bff", selection: "#3e4451" },
    ansi: `#3f4451 #e1727b #98c379 #e5c07b #61afef #c678dd #56b6c2 #d7dae0
      #90959e #ff7a85 #b5e890 #ffd68a #7cc4ff #de8cf2 #6fd3df #ffffff`,
  },
  solarizedDark: {
    ...{ words: "Solarized Dark", kind: "dark", background: "#002b36", foreground: "#93a1a1" },
    ...{ cursor: "#93a1a1", selection: "#073642" },
    ansi: `#073642 #e56765 #859900 #b58900 #3794d6 #de66a0 #2aa198 #eee8d5
      #809196 #d67349 #9fb52a #c9a227 #5fa8dd #8488cd #4cc0b7 #fdf6e3`,
  },
  solarizedLight: {
    ...{ words: "Solarized Light", kind: "light", background: "#fdf6e3", foreground: "#52666d" },
    ...{ cursor: "#52666d", selection: "#e8e1cb" },
    ansi: `#073642 #d3302d #687700 #8d6b00 #2075b0 #c6337a #207a74 #586e75
      #5f747b #c34815 #687700 #8e6b00 #1f73ae #6368b4 #1f7b74 #002b36`,
  },
  tokyoNight: {
    ...{ words: "Tokyo Night", kind: "dark", background: "#1a1b26", foreground: "#c0caf5" },
    ...{ cursor: "#c0caf5", selection: "#33467c" },
    ansi: `#414868 #f7768e #9ece6a #e0af68 #7aa2f7 #bb9af7 #7dcfff #a9b1d6
      #7a83aa #ff899d #afe078 #f0c27f #93b5ff #cbb0ff #98daff #d5dcff`,
  },
} as const satisfies Readonly<Record<string, Palette>>;

export const PALETTE_NAMES = [
  ...["dark", "light", "dracula", "gruvboxDark", "gruvboxLight", "nord", "oneDark"],
  ...["solarizedDark", "solarizedLight", "tokyoNight"],
] as const satisfies readonly (keyof typeof PALETTES)[];

/** `system`: ttyhq's own theme for the system's colour scheme. */
export type ThemeChoice = "system" | (typeof PALETTE_NAMES)[number];

export function paletteOf(choice: ThemeChoice, scheme: ColorScheme): Palette {
  return PALETTES[choice === "system" ? scheme : choice];
}

export function ansiColors({ ansi }: Palette): readonly string[] {
  return ansi.split(/\s+/);
}

const HUES = ["black", "red", "green", "yellow", "blue", "magenta", "cyan", "white"] as const;

export function terminalTheme(palette: Palette): ITheme {
  const { kind, background, foreground, cursor, selection } = palette;
  const names = [...HUES, ...HUES.map((hue) => `bright${hue.charAt(0).toUpperCase()}${hue.slice(1)}`)];
  const colors = ansiColors(palette);
  const slider = kind === "dark" ? "#ffffff" : "#000000";
  return {
    ...{ background, foreground, cursor, cursorAccent: background },
    ...{ selectionBackground: selection, selectionInactiveBackground: selection },
    ...{ scrollbarSliderBackground: `${slider}1f`, scrollbarSliderHoverBackground: `${slider}38` },
    ...{ scrollbarSliderActiveBackground: `${slider}4d`, overviewRulerBorder: "#00000000" },
    ...Object.fromEntries(names.map((name, index) => [name, colors[index] ?? foreground])),
  };
}

/**
 * Programs choose colours for other palettes, such as black on black: text with low contrast is made readable (WCAG
 * AA).
 */
export const MIN_CONTRAST = 4.5;

/** Matches of a search, and the selected match. */
export function searchColors(scheme: ColorScheme) {
  const dark = scheme === "dark";
  return {
    matchBackground: dark ? "#5b4a12" : "#ffe9a8",
    matchOverviewRuler: dark ? "#c9a227" : "#d19a00",
    activeMatchBackground: dark ? "#c9a227" : "#ffc53d",
    activeMatchColorOverviewRuler: dark ? "#ffd75e" : "#b07d00",
  } as const;
}
