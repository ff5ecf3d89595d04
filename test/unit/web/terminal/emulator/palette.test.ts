import { expect, test } from "vitest";
import {
  ansiColors,
  MIN_CONTRAST,
  PALETTE_NAMES,
  PALETTES,
} from "../../../../../src/web/terminal/emulator/palette.ts";

/** As WCAG 2 computes it. */
function contrast(one: string, other: string): number {
  const luminance = (color: string): number =>
    [1, 3, 5]
      .map((at) => Number.parseInt(color.slice(at, at + 2), 16) / 255)
      .map((part) => (part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4))
      .reduce((sum, part, index) => sum + part * ([0.2126, 0.7152, 0.0722][index] ?? 0), 0);
  const [low = 0, high = 0] = [luminance(one), luminance(other)].sort((a, b) => a - b);
  return (high + 0.05) / (low + 0.05);
}

test("there are ten themes, dark ones and light ones", () => {
  expect(new Set(PALETTE_NAMES)).toEqual(new Set(Object.keys(PALETTES)));
  expect(PALETTE_NAMES).toHaveLength(10);
  expect(new Set(PALETTE_NAMES.map((name) => PALETTES[name].kind))).toEqual(new Set(["dark", "light"]));
});

test.each(PALETTE_NAMES)("text in every colour of %s can be read", (name) => {
  const palette = PALETTES[name];
  const colors = ansiColors(palette);
  expect(colors).toHaveLength(16);
  // Black on a dark ground is a ground itself. Text in it is made lighter when it is drawn.
  const text = palette.kind === "dark" ? colors.slice(1) : colors;
  const faint = [palette.foreground, ...text].filter(
    (color) => contrast(color, palette.background) < MIN_CONTRAST,
  );
  expect(faint).toEqual([]);
  expect(contrast(palette.foreground, palette.selection)).toBeGreaterThanOrEqual(MIN_CONTRAST);
});
