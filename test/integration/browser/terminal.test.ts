import { expect, test } from "vitest";
import { z } from "zod";
import { decodeFrame, encodeFrame, FrameType } from "../../../src/protocol/frame/frame.ts";
import { encodeJson } from "../../../src/protocol/frame/payload.ts";
import { Chromium } from "./chromium.ts";
import type { PageDriver } from "./page-driver.ts";
import { pixelsOf } from "./pixels.ts";
import { useStage } from "./stage.ts";

const stage = useStage();
/** For the first load, including API requests. */
const MAX_LOAD_BYTES = 250_000;

async function openShell(): Promise<PageDriver> {
  const page = await stage().chromium.open(stage().server.url);
  await page.startShell();
  return page;
}

test("input reaches the program and its answer is shown", async () => {
  await using page = await openShell();
  await page.enter("echo $((6 * 7))-$TERM");
  await page.shows("\n42-xterm-256color\n");
});

test("the page loads, logs in and runs a program without console errors, in 250 kB", async () => {
  await using page = await stage().chromium.open("about:blank");
  const complaints: string[] = [];
  page.page.on("console", (message) => {
    if (message.type() === "error") complaints.push(message.text());
  });
  page.page.on("pageerror", (error) => complaints.push(error.message));
  await page.page.goto(stage().server.url);
  await page.startShell();
  expect(complaints).toEqual([]);
  const sizes = z.array(z.int()).parse(
    await page.page.evaluate(`[...performance.getEntriesByType("navigation"), ...performance.getEntriesByType("resource")]
      .map(({ encodedBodySize }) => encodedBodySize)`),
  );
  expect(sizes.reduce((sum, bytes) => sum + bytes, 0)).toBeLessThan(MAX_LOAD_BYTES);
});

test("wide, combined and joined characters are shown and take the cells that they should", async () => {
  await using page = await openShell();
  const text = "漢字e\u0301👨‍👩‍👧😀";
  // The cursor's column shows the terminal's width of the text: 2 + 2 + 1 + 2 + 2 cells. Echo is off, because the
  // answer may come before it is read.
  await page.paste(`stty -echo; printf '${text}\\e[6n'; IFS= read -rdR at; echo; echo "at \${at#*;}"`);
  await page.page.keyboard.press("Enter");
  await page.shows(`\n${text}\nat 10\n`);
});

test("colours of the palette and of the whole spectrum are drawn", async () => {
  await using page = await openShell();
  const cells = String.raw`printf '\e[41m%30s\e[0m\n\e[48;5;46m%30s\e[0m\n\e[48;2;12;34;250m%30s\e[0m\n' a b c`;
  await page.enter(cells);
  await page.shows(/\n +a\n +b\n +c\n/);
  await page.settled();
  const colors = ["242,116,125", "0,255,0", "12,34,250"];
  const drawn = async (): Promise<readonly string[]> => {
    const pixels = await pixelsOf(stage().chromium, page);
    return colors.filter((color) => (pixels.get(color) ?? 0) > 1000);
  };
  await expect.poll(drawn).toEqual(colors);
});

test("the program's terminal has the size of the window and follows it", async () => {
  await using page = await openShell();
  await page.enter("echo here-$((1 + 1))");
  await page.shows("\nhere-2\n");
  const before = await page.size();
  await page.enter("stty size");
  await page.shows(`\n${before.rows} ${before.cols}\n`);
  await page.page.setViewportSize({ width: 900, height: 500 });
  await expect.poll(async () => (await page.size()).rows).toBeLessThan(before.rows);
  const after = await page.size();
  expect(after.cols).toBeLessThan(before.cols);
  await page.enter("stty size");
  await page.shows(`\n${after.rows} ${after.cols}\n`);
});

test("on a screen of another resolution the terminal has the size that it would have had from the start", async () => {
  await using page = await openShell();
  await page.enter("echo here-$((1 + 1))");
  await page.shows("\nhere-2\n");
  const { width, height } = page.page.viewportSize() ?? { width: 0, height: 0 };
  const devtools = await page.page.context().newCDPSession(page.page);
  const drawn = () =>
    page.page.evaluate(`document.querySelector(".terminal-pane .xterm-screen").clientHeight`);
  const before = await drawn();
  const metrics = { width, height, deviceScaleFactor: 1.25, mobile: false };
  await devtools.send("Emulation.setDeviceMetricsOverride", metrics);
  await expect.poll(() => page.page.evaluate("devicePixelRatio")).toBe(metrics.deviceScaleFactor);
  // With an emulated screen, Chromium evaluates media queries again only after a change like this.
  await page.page.emulateMedia({ reducedMotion: "reduce" });
  await expect.poll(drawn).not.toBe(before);
  /** Pixels of the pane that are free, or hold no row, at its end. */
  const free = async (): Promise<number> =>
    Number(
      await page.page.evaluate(`(() => {
        const { paddingTop, paddingBottom } = getComputedStyle(document.querySelector(".terminal-pane .xterm"));
        const pane = document.querySelector(".terminal-pane").clientHeight;
        const screen = document.querySelector(".terminal-pane .xterm-screen").clientHeight;
        const room = pane - parseFloat(paddingTop) - parseFloat(paddingBottom) - screen;
        return room < 0 || room >= screen / ttyhq.size.rows ? Number.NaN : room;
      })()`),
    );
  await expect.poll(free).toBeGreaterThanOrEqual(0);
});

test("a size that the server refuses is offered again, and the reason is shown", async () => {
  await using page = await stage().chromium.open("about:blank");
  await page.page.routeWebSocket(/\/ws/, (socket) => {
    const server = socket.connectToServer();
    socket.onMessage((message) => {
      const frame = decodeFrame(Buffer.from(message));
      if (frame.type !== FrameType.RESIZE || frame.sessionId === "") return server.send(message);
      const refusal = { code: "host_unreachable", message: "the session host restarts", request: "command" };
      socket.send(Buffer.from(encodeFrame(FrameType.ERROR, frame.sessionId, encodeJson(refusal))));
    });
  });
  await page.page.goto(stage().server.url);
  await page.startShell();
  await page.page.setViewportSize({ width: 700, height: 400 });
  await page.page.getByText("The terminal was not resized: the session host restarts").waitFor();
  await page.page.getByText("Fit to my window").waitFor();
});

test("a shell does not run pasted lines before Enter", async () => {
  await using page = await openShell();
  await page.paste("echo first-$((1 + 1))\necho second-$((2 + 2))");
  await page.shows("echo second-$((2 + 2))");
  expect(await page.text()).not.toContain("first-2");
  await page.page.keyboard.press("Enter");
  await page.shows(/\nfirst-2\nsecond-4\n/);
});

test("a paste of 100 KB arrives whole", async () => {
  await using page = await openShell();
  const line = "the quick brown fox jumps over the lazy dog 0123456789 ÄÖÜ ";
  const lines = Array.from({ length: 1_700 }, (_, number) => `${line}${number}`).join("\n");
  const bytes = new TextEncoder().encode(`${lines}\n`);
  const digest = Buffer.from(await crypto.subtle.digest("SHA-256", bytes)).toString("hex");
  await page.enter("stty -echo; echo go; sha256sum; stty echo");
  await page.shows("\ngo\n");
  await page.paste(`${lines}\n`);
  await page.page.keyboard.press("Control+D");
  await page.shows(digest);
});

test("text is found in what scrolled away", async () => {
  await using page = await openShell();
  await page.enter("echo nee''dle; seq 1 300; echo nee''dle");
  await page.shows("\n300\nneedle\n");
  await page.page.keyboard.press("Control+Shift+F");
  await page.page.keyboard.type("needle");
  await expect.poll(() => page.page.locator(".search-count").textContent()).toMatch(/^\d of 2$/);
  await page.page.keyboard.press("Escape");
  await page.enter("echo back");
  await page.shows("\nback\n");
});

test("the key of the search leads back to its field", async () => {
  await using page = await openShell();
  await page.page.keyboard.press("Control+Shift+F");
  await page.page.keyboard.type("one");
  await page.enter("");
  await page.page.keyboard.press("Control+Shift+F");
  await page.page.keyboard.type("two");
  expect(await page.page.getByLabel("Search the terminal").inputValue()).toBe("two");
});

test("the program's title is the tab's, and its bell is seen", async () => {
  await using page = await openShell();
  await page.enter(String.raw`printf '\e]0;engine room\a'`);
  await page.titleBecomes("engine room – ttyhq");
  expect(await page.page.locator(".bell-flash").count()).toBe(0);
  await page.enter(String.raw`printf '\a'`);
  await page.page.locator(".bell-flash").waitFor({ state: "attached" });
});

test("an address in the output is a link to another window", async () => {
  await using page = await openShell();
  const address = `${stage().server.url}/livez`;
  await page.enter(`clear; echo ${address}`);
  await page.shows(/^http\S+\n/);
  await page.settled();
  const [popup] = await Promise.all([
    page.page.waitForEvent("popup"),
    page.page.locator(".xterm-screen").click({ position: { x: 40, y: 9 } }),
  ]);
  await popup.waitForURL(address);
});

test("without WebGL the terminal is drawn with elements", async () => {
  await using chromium = await Chromium.start({ args: ["--disable-3d-apis"] });
  await using page = await chromium.open(stage().server.url);
  await page.startShell();
  await page.enter("echo drawn-$((1 + 1))");
  await page.page.locator(".xterm-rows").getByText("drawn-2", { exact: true }).waitFor();
});

test("without WebGL a blinking cursor costs no frames while nothing happens", async () => {
  await using page = await openShell();
  await page.enter("printf '\\033[1 q'; echo asked");
  await page.shows("\nasked\n");
  const cursor = page.page.locator(".xterm-cursor-blink");
  await cursor.waitFor({ state: "attached" });
  expect(await cursor.evaluate((element) => element.getAnimations().length)).toBe(0);
});

test("a phone has the keys that its keyboard lacks", async () => {
  const phone = { viewport: { width: 390, height: 700 }, isMobile: true, hasTouch: true };
  await using page = await stage().chromium.open(stage().server.url, phone);
  await page.startShell();
  await page.enter("echo go; cat");
  await page.shows("\ngo\n");
  await page.enter("heard");
  await page.shows("\nheard\nheard\n");
  await page.button("Ctrl").tap();
  await page.type("c");
  await page.shows(/\^C\nready> \n*$/);
  await page.type("echo up");
  await page.page.keyboard.press("Enter");
  await page.shows("\nup\n");
  await page.button("Up").tap();
  await page.shows(/\nready> echo up\n*$/);
});

test("the list is reached from the terminal by the keyboard, and the terminal from the list", async () => {
  await using page = await openShell();
  // The list may come after the terminal.
  await page.page.getByRole("navigation").locator("[aria-current=page]").waitFor();
  await page.page.keyboard.press("Control+Shift+L");
  expect(await page.page.evaluate("document.activeElement.getAttribute('aria-current')")).toBe("page");
  await page.page.keyboard.press("Enter");
  await page.page.keyboard.type("echo back-$((1 + 1))");
  await page.page.keyboard.press("Enter");
  await page.shows("\nback-2\n");
});
