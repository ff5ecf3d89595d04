// A person's settings on this device, and their effect on programs in the terminal.
import { expect, test } from "vitest";
import { z } from "zod";
import type { PageDriver } from "./page-driver.ts";
import { pixelsOf } from "./pixels.ts";
import { useStage } from "./stage.ts";

const stage = useStage();

async function openShell(): Promise<PageDriver> {
  const { server, chromium } = stage();
  const permissions = ["clipboard-read", "clipboard-write"];
  const page = await chromium.open(server.url, { permissions });
  await page.startShell();
  return page;
}

async function openSettings(page: PageDriver): Promise<void> {
  await page.button("Settings").click();
  await page.page.getByRole("dialog", { name: "Settings" }).waitFor();
}

async function closeSettings(page: PageDriver): Promise<void> {
  await page.button("Close").click();
  await page.page.getByRole("dialog").waitFor({ state: "detached" });
}

async function loaded({ page }: PageDriver, pattern: RegExp): Promise<readonly string[]> {
  const names = await page.evaluate(`performance.getEntriesByType("resource").map(({ name }) => name)`);
  return z
    .array(z.string())
    .parse(names)
    .filter((name) => pattern.test(name));
}

async function clipboard({ page }: PageDriver): Promise<unknown> {
  return await page.evaluate("navigator.clipboard.readText()");
}

/** Its letters are in base64. */
const COPY = (text: string): string => String.raw`printf '\e]52;c;%s\a' "$(printf '${text}' | base64)"`;

test("a theme, a font and its size are there at once and after a reload", async () => {
  await using page = await openShell();
  const before = await page.size();
  await openSettings(page);
  await page.page.getByLabel("Theme").selectOption("Nord");
  await page.button("Larger text").click();
  await page.button("Larger text").click();
  await page.page.getByLabel("Font", { exact: true }).fill("DejaVu Sans Mono");
  await closeSettings(page);
  const frame = page.page.locator(".terminal-frame");
  const ground = () => frame.evaluate((element) => getComputedStyle(element).backgroundColor);
  await expect.poll(ground).toBe("rgb(46, 52, 64)");
  await expect.poll(async () => (await page.size()).cols).toBeLessThan(before.cols);
  await page.page.reload();
  await page.shows("ready> ");
  await expect.poll(ground).toBe("rgb(46, 52, 64)");
  await openSettings(page);
  expect(await page.page.getByLabel("Font", { exact: true }).inputValue()).toBe("DejaVu Sans Mono");
});

test("code and fonts that were not chosen are not loaded, and icons come when they are", async () => {
  await using page = await openShell();
  const extras = /settings|addon-image|woff2/;
  expect(await loaded(page, extras)).toEqual([]);
  await openSettings(page);
  await page.page.getByLabel("Icons of Nerd Fonts").check();
  const hasIcons = () =>
    page.page.evaluate(
      `[...document.fonts].some(({ family, status }) => /icons/.test(family) && status === "loaded")`,
    );
  await expect.poll(hasIcons).toBe(true);
  await expect.poll(() => loaded(page, /woff2$/)).toHaveLength(1);
});

test("the bell is silent, a flash, or a sound as well", async () => {
  await using page = await openShell();
  await page.page.evaluate(`{
    globalThis.tones = 0;
    const { start } = OscillatorNode.prototype;
    OscillatorNode.prototype.start = function (...when) { tones += 1; start.apply(this, when); };
  }`);
  const flashes = page.page.locator(".bell-flash");
  const choose = async (name: string): Promise<void> => {
    await openSettings(page);
    await page.page.getByRole("radio", { name, exact: true }).check();
    await closeSettings(page);
  };
  await choose("Off");
  await page.enter(String.raw`printf '\a'; echo rung-$((1 + 1))`);
  await page.shows("\nrung-2\n");
  await page.settled();
  expect(await flashes.count()).toBe(0);
  await choose("Flash and sound");
  await page.enter(String.raw`printf '\a'`);
  await flashes.waitFor({ state: "attached" });
  await expect.poll(() => page.page.evaluate("tones")).toBe(1);
});

test("selected text is copied, if that is chosen", async () => {
  await using page = await openShell();
  await openSettings(page);
  await page.page.getByLabel("Copy selected text").check();
  await closeSettings(page);
  await page.enter("clear; echo chosen-word");
  await page.shows(/^chosen-word\n/);
  await page.settled();
  await page.page.locator(".xterm-screen").dblclick({ position: { x: 40, y: 9 } });
  await expect.poll(() => clipboard(page)).toBe("chosen-word");
});

test("a program writes to the clipboard once that is allowed in its session, and never reads it", async () => {
  await using page = await openShell();
  const question = page.page.getByRole("status", { name: "Clipboard" });
  await page.enter(COPY("from the program"));
  await question.getByText("from the program").waitFor();
  await page.button("Allow in this session").click();
  await expect.poll(() => clipboard(page)).toBe("from the program");
  await page.enter(COPY("and more"));
  await expect.poll(() => clipboard(page)).toBe("and more");
  expect(await question.count()).toBe(0);
  // The answer to the second question proves that the first got none.
  await page.paste(
    String.raw`stty -echo; printf '\e]52;c;?\a\e[5n'; IFS= read -rdn at; echo; echo "at ${"$"}{at#?}"`,
  );
  await page.page.keyboard.press("Enter");
  await page.shows("\nat [0\n");
  // Earlier output does not count, and another session asks again.
  await page.page.reload();
  await page.shows("at [0");
  expect(await question.count()).toBe(0);
  await page.startShell();
  await page.enter(COPY("of another"));
  await page.button("Never here").click();
  await page.enter(`${COPY("refused")}; echo refused-$((1 + 1))`);
  await page.shows("\nrefused-2\n");
  await page.settled();
  expect(await question.count()).toBe(0);
  expect(await clipboard(page)).toBe("and more");
});

test("Shift+Enter is Enter to a shell, and a key of its own to a program that asked for it, after a reload too", async () => {
  await using page = await openShell();
  await page.type("echo plain-$((1 + 1))");
  await page.page.keyboard.press("Shift+Enter");
  await page.shows("\nplain-2\n");
  await page.enter(String.raw`printf '\e[>1u\e[?u'; IFS= read -rdu at; echo "at ${"$"}{at#?}"; cat`);
  await page.shows("at [?1\n");
  await page.page.keyboard.press("Shift+Enter");
  await page.shows("^[[13;2u");
  await page.page.keyboard.press("Control+C");
  await page.shows("^[[13;2u^[[99;5u");
  await page.page.reload();
  await page.shows("^[[13;2u^[[99;5u");
  await page.page.locator(".xterm-helper-textarea").focus();
  await page.page.keyboard.press("Shift+Enter");
  await page.shows("^[[13;2u^[[99;5u^[[13;2u");
});

test("Shift+Enter is a key of its own to a coding agent, which asks for the focus", async () => {
  await using page = await openShell();
  await page.enter(String.raw`printf '\e[?1004h'; echo on-$((1 + 1)); cat`);
  await page.shows("\non-2\n");
  await page.settled();
  await page.page.keyboard.press("Shift+Enter");
  await page.shows("^[[13;2u");
});

test("images are drawn where that is chosen, and one window alone says so to the program", async () => {
  await using page = await openShell();
  await openSettings(page);
  await page.page.getByLabel("Images").check();
  await expect.poll(() => loaded(page, /addon-image|esm/)).toHaveLength(1);
  await closeSettings(page);
  await using other = await page.another(page.page.url());
  await other.shows("ready> ");
  await page.page.bringToFront();
  const ask = String.raw`stty -echo; printf '\e[c'; IFS= read -rdc at; stty echo; echo "is-$n ${"$"}{at#?}"`;
  let asked = 0;
  await expect
    .poll(async () => {
      asked += 1;
      await page.enter(`n=${asked}; ${ask}`);
      await page.shows(new RegExp(`^is-${asked} `, "m"));
      return await page.text();
    })
    .toMatch(/^is-\d+ \[\?62;4;/m);
  const band = "!200~-";
  await page.enter(String.raw`clear; printf '\ePq#0;2;100;0;0#0${band.repeat(10)}\e\\'; echo end-$((1 + 1))`);
  await page.shows("end-2\n");
  await expect
    .poll(async () => (await pixelsOf(stage().chromium, page)).get("255,0,0") ?? 0)
    .toBeGreaterThan(5_000);
  // An answer from the other window would have been typed at the prompt.
  expect(await page.text()).not.toContain("62;4");
});
