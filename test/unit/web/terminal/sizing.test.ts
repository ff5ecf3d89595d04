import { expect, test } from "vitest";
import type { TerminalSize } from "../../../../src/protocol/schemas/session.ts";
import { Sizing } from "../../../../src/web/terminal/sizing.ts";

/** A pane of 840 by 480 pixels, in which a cell is as wide as the font's size and twice as high. */
function paneOf() {
  const asked: TerminalSize[] = [];
  const pane = {
    ...{ width: 840, height: 480, fontSizePx: 10, hasScrollback: true },
    rowPx: (fontSizePx: number): number => 2 * fontSizePx,
  };
  const drawn: TerminalSize[] = [];
  const drawing = {
    get fittingSize() {
      return {
        cols: Math.floor(pane.width / pane.fontSizePx),
        rows: Math.floor(pane.height / pane.rowPx(pane.fontSizePx)),
      };
    },
    get hasScrollback() {
      return pane.hasScrollback;
    },
    setFontSize: (px: number) => {
      pane.fontSizePx = px;
    },
    resize: (size: TerminalSize) => void drawn.push(size),
  };
  const session = { isRunning: true };
  const isRunning = (): boolean => session.isRunning;
  const sizing = new Sizing({ drawing, fontSizePx: 10, isRunning, ask: (size) => asked.push(size) });
  return { sizing, asked, pane, session, drawn };
}

test("a window that only watches requests no size", () => {
  const { sizing, asked } = paneOf();
  sizing.told({ cols: 80, rows: 20 });
  sizing.layout();
  expect(asked).toEqual([]);
  expect(sizing.foreign.value).toEqual({ cols: 80, rows: 20 });
});

test("a session that is larger than the window is drawn with smaller letters", () => {
  const { sizing, pane } = paneOf();
  sizing.told({ cols: 168, rows: 24 });
  sizing.layout();
  expect(pane.fontSizePx).toBe(5 + 1);
  sizing.told({ cols: 120, rows: 24 });
  sizing.layout();
  expect(pane.fontSizePx).toBe(7);
  sizing.told({ cols: 84, rows: 24 });
  sizing.layout();
  expect(pane.fontSizePx).toBe(10);
});

test("letters get smaller until the session fits, however the height of a row is rounded", () => {
  const { sizing, pane } = paneOf();
  pane.rowPx = (fontSizePx) => 8 * Math.ceil(fontSizePx / 4);
  sizing.told({ cols: 80, rows: 21 });
  sizing.layout();
  expect(pane.fontSizePx).toBe(8);
});

test("fitting asks once for the size, and follows the window from then on", () => {
  const { sizing, asked, pane } = paneOf();
  sizing.told({ cols: 80, rows: 20 });
  sizing.fit();
  sizing.layout();
  expect(asked).toEqual([{ cols: 84, rows: 24 }]);
  sizing.told({ cols: 84, rows: 24 });
  pane.width = 700;
  sizing.layout();
  expect(asked).toEqual([
    { cols: 84, rows: 24 },
    { cols: 70, rows: 24 },
  ]);
  expect(sizing.foreign.value).toBeUndefined();
});

test("the answers to several requests on their way are not taken for another window's", () => {
  const { sizing, pane } = paneOf();
  sizing.told({ cols: 80, rows: 20 });
  sizing.fit();
  pane.width = 700;
  sizing.layout();
  sizing.told({ cols: 84, rows: 24 });
  sizing.told({ cols: 70, rows: 24 });
  expect(sizing.isOurs).toBe(true);
});

test("a window that is resized faster than the server answers keeps its session, and gets the last size", () => {
  const { sizing, asked, pane } = paneOf();
  sizing.told({ cols: 80, rows: 20 });
  sizing.fit();
  for (let width = 820; width >= 500; width -= 10) {
    pane.width = width;
    sizing.layout();
  }
  for (let answered = 0; answered < asked.length; answered += 1) {
    sizing.told(asked[answered] ?? { cols: 0, rows: 0 });
    sizing.layout();
    expect(sizing.isOurs).toBe(true);
  }
  expect(asked.at(-1)).toEqual({ cols: 50, rows: 24 });
});

test("a refused size leaves the session to its size until this window is fitted again", () => {
  const { sizing, asked } = paneOf();
  sizing.told({ cols: 80, rows: 20 });
  sizing.fit();
  sizing.refused({ cols: 84, rows: 24 });
  expect([sizing.isOurs, sizing.foreign.value]).toEqual([false, { cols: 80, rows: 20 }]);
  sizing.layout();
  expect(asked).toHaveLength(1);
  sizing.fit();
  sizing.told({ cols: 84, rows: 24 });
  expect(sizing.isOurs).toBe(true);
});

test("a refused size does not count if a later one is accepted", () => {
  const { sizing, pane } = paneOf();
  sizing.told({ cols: 80, rows: 20 });
  sizing.fit();
  pane.width = 700;
  sizing.layout();
  sizing.refused({ cols: 84, rows: 24 });
  sizing.told({ cols: 70, rows: 24 });
  expect([sizing.isOurs, sizing.foreign.value]).toEqual([true, undefined]);
});

test("another window's size is followed until this one is fitted again", () => {
  const { sizing, asked } = paneOf();
  sizing.told({ cols: 80, rows: 20 });
  sizing.fit();
  sizing.told({ cols: 84, rows: 24 });
  sizing.told({ cols: 40, rows: 10 });
  sizing.layout();
  expect(sizing.isOurs).toBe(false);
  expect(asked).toHaveLength(1);
  expect(sizing.foreign.value).toEqual({ cols: 40, rows: 10 });
  sizing.fit();
  expect(asked).toHaveLength(2);
});

test("of two windows that request a size at the same time, the session follows the one whose request came later", () => {
  const { sizing, asked, pane } = paneOf();
  sizing.told({ cols: 80, rows: 20 });
  sizing.fit();
  sizing.told({ cols: 60, rows: 20 });
  sizing.told({ cols: 84, rows: 24 });
  pane.width = 700;
  sizing.layout();
  expect(asked.at(-1)).toEqual({ cols: 70, rows: 24 });
});

test("a window resized without a connection requests its size when the connection is back", () => {
  const { sizing, asked, pane, session } = paneOf();
  sizing.told({ cols: 80, rows: 20 });
  sizing.fit();
  sizing.told({ cols: 84, rows: 24 });
  session.isRunning = false;
  pane.width = 700;
  sizing.layout();
  expect(asked).toHaveLength(1);
  session.isRunning = true;
  sizing.told({ cols: 84, rows: 24 });
  sizing.layout();
  expect(asked.slice(1)).toEqual([{ cols: 70, rows: 24 }]);
});

test("a size that the session took, although the answer was lost with the connection, is this window's", () => {
  const { sizing, asked, pane } = paneOf();
  sizing.told({ cols: 80, rows: 20 });
  sizing.fit();
  sizing.forget();
  sizing.told({ cols: 84, rows: 24 });
  expect(sizing.isOurs).toBe(true);
  pane.width = 700;
  sizing.layout();
  expect(asked.at(-1)).toEqual({ cols: 70, rows: 24 });
});

test("the output of an ended session is wrapped to the window, and the last screen of a full-screen program shrunk", () => {
  const { sizing, asked, pane, drawn } = paneOf();
  sizing.told({ cols: 84, rows: 24 });
  sizing.fit();
  pane.height = 400;
  sizing.finish();
  expect([drawn.at(-1), pane.fontSizePx]).toEqual([{ cols: 84, rows: 20 }, 10]);
  pane.width = 590;
  sizing.layout();
  expect([drawn.at(-1), pane.fontSizePx]).toEqual([{ cols: 59, rows: 20 }, 10]);
  drawn.length = 0;
  pane.hasScrollback = false;
  pane.width = 840;
  sizing.layout();
  expect([drawn, pane.fontSizePx, asked]).toEqual([[], 8, []]);
});
