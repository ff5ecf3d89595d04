// Fingers on the terminal of a phone: real touch events, as the browser makes them.
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

/** One finger down at a place, at the next ones in turn, and up. `restMs`: it rests so long before it moves. */
async function drag(
  { page }: PageDriver,
  places: readonly { readonly x: number; readonly y: number }[],
  restMs = 0,
): Promise<void> {
  const session = await page.context().newCDPSession(page);
  const [first, ...others] = places;
  if (first === undefined) return;
  const send = async (
    type: "touchStart" | "touchMove" | "touchEnd",
    touchPoints: { x: number; y: number }[],
  ) => void (await session.send("Input.dispatchTouchEvent", { type, touchPoints }));
  await send("touchStart", [first]);
  if (restMs > 0) await page.waitForTimeout(restMs);
  for (const place of others) await send("touchMove", [place]);
  await send("touchEnd", []);
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
  await drag(page, [at(8)], 700);
  await page.button("Copy").tap();
  const copied = () => page.page.evaluate("navigator.clipboard.readText()");
  await expect.poll(copied).toBe("second");
  await page.button("Copy").waitFor({ state: "detached" });
  await drag(page, [at(8), at(12), at(17)], 700);
  await page.button("Copy").tap();
  await expect.poll(copied).toBe("second third");
});
