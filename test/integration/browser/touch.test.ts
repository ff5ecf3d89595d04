// Touch input on a phone's terminal: real touch events of the browser.
import { expect, test } from "vitest";
import type { PageDriver } from "./page-driver.ts";
import { useStage } from "./stage.ts";

const PHONE = {
  ...{ viewport: { width: 390, height: 844 }, isMobile: true, hasTouch: true },
  permissions: ["clipboard-read", "clipboard-write"],
};
const stage = useStage();

async function openShell(): Promise<PageDriver> {
  const page = await stage().chromium.open(stage().server.url, PHONE);
  await page.startShell();
  return page;
}

/** One finger: down at a place, then the next ones, then up. `rested`: waits for what its rest does before it moves. */
async function drag(
  { page }: PageDriver,
  places: readonly { readonly x: number; readonly y: number }[],
  rested: () => Promise<void> = async () => {},
): Promise<void> {
  const session = await page.context().newCDPSession(page);
  const [first, ...others] = places;
  if (first === undefined) return;
  const send = async (
    type: "touchStart" | "touchMove" | "touchEnd",
    touchPoints: { x: number; y: number }[],
  ) => void (await session.send("Input.dispatchTouchEvent", { type, touchPoints }));
  await send("touchStart", [first]);
  await rested();
  for (const place of others) await send("touchMove", [place]);
  await send("touchEnd", []);
}

/** One finger that rests until it has selected something: a busy page may see it lifted before its timer is up. */
function hold(page: PageDriver, ...places: readonly { readonly x: number; readonly y: number }[]) {
  return drag(page, places, () => page.button("Copy").waitFor());
}

/** Two fingers whose distance changes by that factor. */
async function pinch(
  { page }: PageDriver,
  scale: number,
  end: "touchEnd" | "touchCancel" = "touchEnd",
): Promise<void> {
  const session = await page.context().newCDPSession(page);
  const apart = scale > 1 ? 50 : 200;
  const at = (distance: number) => [
    { x: 195 - distance / 2, y: 300, id: 1 },
    { x: 195 + distance / 2, y: 300, id: 2 },
  ];
  const send = async (type: "touchStart" | "touchMove" | typeof end, touchPoints: ReturnType<typeof at>) =>
    void (await session.send("Input.dispatchTouchEvent", { type, touchPoints }));
  await send("touchStart", at(apart));
  for (const step of [0.25, 0.5, 0.75, 1]) await send("touchMove", at(apart * (1 + (scale - 1) * step)));
  await send(end, []);
}

/** Over the middle of the terminal, in steps of 20 pixels. */
async function swipe(page: PageDriver, direction: "up" | "down"): Promise<void> {
  const steps = Array.from({ length: 16 }, (_, index) => ({ x: 150, y: 250 + index * 20 }));
  await drag(page, direction === "down" ? steps : steps.toReversed());
}

test("a finger scrolls the output, what a pager shows, and what a program makes of the mouse", async () => {
  await using page = await openShell();
  const shown = async (): Promise<string> => String(await page.page.evaluate("ttyhq.shownText"));
  await page.enter("seq 1 300");
  await page.shows("\n300\n");
  await swipe(page, "down");
  await expect.poll(shown).not.toContain("300");
  await swipe(page, "up");
  await swipe(page, "up");
  await expect.poll(shown).toContain("\n300\n");
  await page.enter("seq 1 300 | less");
  await page.shows(/^1\n2\n/);
  await swipe(page, "up");
  await expect.poll(shown).not.toMatch(/^1\n/);
  await page.type("q");
  await page.enter(String.raw`printf '\e[?1000h\e[?1006h'; echo mouse-$((1 + 1)); cat -v`);
  await page.shows("\nmouse-2\n");
  await swipe(page, "up");
  await page.shows("^[[<65;");
});

test("a finger that rests selects a word, and more as it moves, to be copied", async () => {
  await using page = await openShell();
  await page.enter("clear; echo first second third");
  await page.shows(/^first second third\n/);
  await page.settled();
  const { x = 0, y = 0, width = 0 } = (await page.page.locator(".xterm-screen").boundingBox()) ?? {};
  const { cols } = await page.size();
  const at = (column: number) => ({ x: x + ((column + 0.5) * width) / cols, y: y + 8 });
  await hold(page, at(8));
  await page.button("Copy").tap();
  const copied = () => page.page.evaluate("navigator.clipboard.readText()");
  await expect.poll(copied).toBe("second");
  await page.button("Copy").waitFor({ state: "detached" });
  // The same word first.
  await hold(page, at(8), at(12), at(17));
  await page.button("Copy").tap();
  await expect.poll(copied).toBe("second third");
});

test("a finger selects the whole word under it, also behind wide characters", async () => {
  await using page = await openShell();
  await page.enter("clear; echo 漢字漢字 word 😀end");
  await page.shows(/^漢字漢字 word 😀end\n/);
  await page.settled();
  const { x = 0, y = 0, width = 0 } = (await page.page.locator(".xterm-screen").boundingBox()) ?? {};
  const { cols } = await page.size();
  const at = (column: number) => ({ x: x + ((column + 0.5) * width) / cols, y: y + 8 });
  const copied = async (): Promise<unknown> => {
    await page.button("Copy").tap();
    await page.button("Copy").waitFor({ state: "detached" });
    return await page.page.evaluate("navigator.clipboard.readText()");
  };
  await hold(page, at(10));
  expect(await copied()).toBe("word");
  await hold(page, at(5));
  expect(await copied()).toBe("漢字漢字");
  await hold(page, at(17));
  expect(await copied()).toBe("😀end");
});

test("once the finger is lifted, a mouse opens the browser's menu again", async () => {
  await using page = await openShell();
  await page.settled();
  const isSuppressed = async (): Promise<unknown> =>
    await page.page.evaluate(`!document
      .querySelector(".terminal-pane")
      .dispatchEvent(new MouseEvent("contextmenu", { bubbles: true, cancelable: true }))`);
  await hold(page, { x: 150, y: 300 });
  expect(await isSuppressed()).toBe(false);
  await swipe(page, "up");
  expect(await isSuppressed()).toBe(false);
});

test("a paste that the browser refuses is reported", async () => {
  await using page = await stage().chromium.open(stage().server.url, { ...PHONE, permissions: [] });
  await page.startShell();
  await page.button("Paste").tap();
  await page.page.getByText(/^Nothing was pasted: /).waitFor();
});

test("the bar has the keys that a phone lacks, all within reach, and modifiers that hold for one key or for all", async () => {
  await using page = await openShell();
  const bar = page.page.getByRole("toolbar", { name: "Keys" });
  const keys = bar.getByRole("button");
  expect(await keys.count()).toBe(16);
  for (const key of await keys.all()) {
    const { x = -1, y = 0, width = 0, height = 0 } = (await key.boundingBox()) ?? {};
    expect(x).toBeGreaterThanOrEqual(0);
    expect(x + width).toBeLessThanOrEqual(PHONE.viewport.width);
    expect(y + height).toBeLessThanOrEqual(PHONE.viewport.height);
    expect(Math.min(width, height)).toBeGreaterThanOrEqual(38);
  }
  await page.enter("clear; stty -icanon -isig -echo; echo raw-$((1 + 1)); cat -v");
  await page.shows("raw-2\n");
  const tap = async (...names: readonly string[]): Promise<void> => {
    for (const name of names) await bar.getByRole("button", { name, exact: true }).tap();
  };
  await tap("Escape", "Tab", "Home key", "End key", "Page up", "Page down", "Up");
  await page.shows("^[\t^[[H^[[F^[[5~^[[6~^[[A".replace("\t", "      "));
  await tap("Alt");
  await page.type("xy");
  await tap("Ctrl", "Left", "Ctrl", "Ctrl");
  await page.type("ab");
  await tap("Ctrl");
  await page.type("c");
  await page.shows("^[xy^[[1;5D^A^Bc");
  await page.page.evaluate("navigator.clipboard.writeText('pasted')");
  await tap("Paste");
  await page.shows("pasted");
});

test("a swipe leads to the next session and back; lying down, the phone shows no list beside the terminal", async () => {
  await using page = await openShell();
  const first = page.page.url();
  await page.page.goto(`${stage().server.url}/#/`);
  await page.startShell();
  const second = page.page.url();
  // The next session is that of the list, which may come after the terminal.
  await page.page.locator(".sidebar [aria-current=page]").waitFor({ state: "attached" });
  const steps = Array.from({ length: 10 }, (_, index) => ({ x: 320 - index * 25, y: 300 }));
  await drag(page, steps);
  await page.page.waitForURL(first);
  await page.phase("running");
  await drag(page, steps.toReversed());
  await page.page.waitForURL(second);
  await page.page.setViewportSize({ width: 844, height: 390 });
  await page.page.locator(".sidebar").waitFor({ state: "hidden" });
  const { width = 0, height = 0 } = (await page.page.locator(".terminal-frame").boundingBox()) ?? {};
  expect(width).toBe(844);
  expect(height).toBeGreaterThan(290);
});

test("a session of another size is panned with one finger and zoomed with two", async () => {
  const { server, chromium } = stage();
  await using desk = await chromium.open(server.url, { viewport: { width: 1800, height: 1100 } });
  await desk.startShell();
  await desk.settled();
  await using page = await chromium.open(desk.page.url(), PHONE);
  await page.shows("ready> ");
  await page.page.getByText("Fit to my window").waitFor();
  const scrolledTo = async (): Promise<number> =>
    Number(await page.page.evaluate("document.querySelector('.terminal-pane').scrollLeft"));
  const steps = Array.from({ length: 10 }, (_, index) => ({ x: 320 - index * 25, y: 300 }));
  await drag(page, steps);
  await expect.poll(scrolledTo).toBeGreaterThan(100);
  expect(page.page.url()).toBe(desk.page.url());
  const width = async (): Promise<number> =>
    (await page.page.locator(".xterm-screen").boundingBox())?.width ?? 0;
  const before = await width();
  await pinch(page, 2);
  await expect.poll(width).toBeGreaterThan(1.5 * before);
  const zoomed = await width();
  await pinch(page, 1.5, "touchCancel");
  await expect.poll(width).toBe(zoomed);
  await pinch(page, 0.25);
  await expect.poll(width).toBe(before);
});
