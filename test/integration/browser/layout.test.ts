// Several sessions side by side and in tabs, with their layout in the address.
import { expect, test } from "vitest";
import { z } from "zod";
import { ask } from "../harness/http.ts";
import type { PageDriver } from "./page-driver.ts";
import { createSession } from "./page-server.ts";
import { useStage } from "./stage.ts";

const Clients = z.array(z.object({ subscriptions: z.array(z.string()) }));
const PHONE = { viewport: { width: 390, height: 844 }, isMobile: true, hasTouch: true };
const stage = useStage();

/** A shell that prints its name and waits. */
async function shell(name: string): Promise<string> {
  return await createSession(
    stage().server,
    ["env", `PS1=${name}> `, "bash", "--norc", "--noprofile", "-i"],
    `${name} shell`,
  );
}

async function open(hash: string): Promise<PageDriver> {
  const { server, chromium } = stage();
  return await chromium.open(`${server.url}/${hash}`, { viewport: { width: 1400, height: 900 } });
}

/** The content of the visible sessions, by id. */
async function panes({ page }: PageDriver): Promise<Readonly<Record<string, string>>> {
  return z.record(z.string(), z.string()).parse(await page.evaluate("ttyhq.panes"));
}

async function addressOf({ page }: PageDriver): Promise<string> {
  return String(await page.evaluate("location.hash"));
}

/** Finds a session in the focused empty pane. */
async function choose({ page }: PageDriver, name: string): Promise<void> {
  await page.keyboard.type(name);
  await page.locator("[role=option][aria-selected=true]", { hasText: name }).waitFor();
  await page.keyboard.press("Enter");
}

async function widthBecomes(page: PageDriver, matches: (cols: number) => boolean): Promise<void> {
  await expect.poll(async () => matches((await page.size()).cols)).toBe(true);
}

/** The columns of the program in the focused pane. */
async function columns(page: PageDriver, mark: string): Promise<number> {
  await page.page.keyboard.type(`echo ${mark}-$(tput cols)-\n`);
  await page.shows(new RegExp(`\\n${mark}-\\d+-`));
  return Number(new RegExp(`\\n${mark}-(\\d+)-`).exec(await page.text())?.[1]);
}

test("a pane is split by keys, each has a terminal of its own size, and keys go to the focused one", async () => {
  const [one, two] = [await shell("one"), await shell("two")];
  await using page = await open(`#/s/${one}`);
  await page.shows("one> ");
  await widthBecomes(page, (cols) => cols > 80);
  const wide = await columns(page, "wide");
  await page.page.keyboard.press("Control+Shift+E");
  await choose(page, "two shell");
  await page.shows("two> ");
  expect(await addressOf(page)).toBe(`#/l/${one}|*${two}`);
  await widthBecomes(page, (cols) => cols < wide * 0.6);
  expect(await columns(page, "half")).toBeLessThan(wide * 0.6);
  await page.page.keyboard.press("Control+Shift+ArrowLeft");
  await page.shows("one> ");
  await page.page.keyboard.type("echo left-$((1 + 1))\n");
  await page.shows("\nleft-2\n");
  expect((await panes(page))[two]).not.toContain("left-2");
  // The search belongs to the focused pane.
  await page.page.keyboard.press("Control+Shift+F");
  expect(await page.page.getByLabel("Search the terminal").count()).toBe(1);
  await page.page.keyboard.press("Escape");
  await page.page.getByRole("separator", { name: "Divider" }).focus();
  await page.page.keyboard.press("End");
  await expect.poll(() => addressOf(page)).toBe(`#/l/${one}:9|${two}`);
  await page.page.getByRole("region", { name: "Terminal 1" }).getByRole("button", { name: "Search" }).focus();
  await page.page.getByRole("region", { name: "Terminal 2" }).locator(".terminal-pane").click();
  await expect.poll(() => addressOf(page)).toBe(`#/l/${one}:9|*${two}`);
  await page.page.keyboard.press("Control+Shift+X");
  await expect.poll(() => addressOf(page)).toBe(`#/s/${one}`);
  await page.sizeBecomes({ cols: wide });
});

test("a player takes the keys only of its own pane, and takes them when the focus comes to it", async () => {
  const [one, two] = [await shell("one"), await shell("two")];
  await using page = await open(`#/l/${one}@0|*${two}`);
  const player = page.page.getByRole("region", { name: "Recording" });
  await player.getByRole("button", { name: /^(Play|Pause)$/ }).waitFor();
  await page.shows("two> ");
  await page.page.keyboard.type("echo right-$((1 + 1))\n");
  await page.shows("\nright-2\n");
  expect(await addressOf(page)).toBe(`#/l/${one}@0|*${two}`);
  await page.page.keyboard.press("Control+Shift+ArrowLeft");
  await expect.poll(() => addressOf(page)).toBe(`#/l/${one}@0|${two}`);
  await player.locator("button:focus").waitFor();
});

test("a divider is dragged by mouse and finger, and the address says where it is", async () => {
  const { server, chromium } = stage();
  const [one, two] = [await shell("one"), await shell("two")];
  await using page = await chromium.open(`${server.url}/#/l/${one}/${two}`, {
    ...{ viewport: { width: 1200, height: 900 }, hasTouch: true },
  });
  await page.shows("one> ");
  // By then the keys for touch input are below, and the divider is in its place.
  await page.phase("running");
  const divider = page.page.getByRole("separator", { name: "Divider" });
  /** On the divider, and its target. */
  const way = async (share: number) => {
    const [line, area] = [await divider.boundingBox(), await page.page.locator(".panes").boundingBox()];
    if (line === null || area === null) throw new Error("the divider is not drawn");
    const x = Math.round(line.x + line.width / 2);
    return {
      from: { x, y: Math.round(line.y + line.height / 2) },
      to: { x, y: Math.round(area.y + area.height * share) },
    };
  };
  const mouse = await way(0.75);
  await page.page.mouse.move(mouse.from.x, mouse.from.y);
  await page.page.mouse.down();
  await page.page.mouse.move(mouse.to.x, mouse.to.y, { steps: 3 });
  await page.page.mouse.up();
  await expect.poll(() => addressOf(page)).toBe(`#/l/${one}:3/${two}`);
  const devtools = await page.page.context().newCDPSession(page.page);
  const finger = await way(0.5);
  await devtools.send("Input.dispatchTouchEvent", { type: "touchStart", touchPoints: [finger.from] });
  for (const at of [{ ...finger.to, y: finger.to.y + 60 }, finger.to]) {
    await devtools.send("Input.dispatchTouchEvent", { type: "touchMove", touchPoints: [at] });
  }
  await devtools.send("Input.dispatchTouchEvent", { type: "touchEnd", touchPoints: [] });
  await expect.poll(() => addressOf(page)).toBe(`#/l/${one}/${two}`);
});

test("a pane that is closed while its divider is dragged leaves its place to the others", async () => {
  const [one, two] = [await shell("one"), await shell("two")];
  await using page = await open(`#/l/${one}|*${two}`);
  await page.shows("two> ");
  const line = await page.page.getByRole("separator", { name: "Divider" }).boundingBox();
  if (line === null) throw new Error("the divider is not drawn");
  const y = line.y + line.height / 2;
  await page.page.mouse.move(line.x + line.width / 2, y);
  await page.page.mouse.down();
  await page.page.mouse.move(line.x + 200, y, { steps: 3 });
  await page.page.keyboard.press("Control+Shift+X");
  await page.page.getByRole("separator", { name: "Divider" }).waitFor({ state: "detached" });
  await page.page.mouse.up();
  const width = async (selector: string) => (await page.page.locator(selector).boundingBox())?.width;
  expect(await width(".pane")).toBe(await width(".panes"));
});

test("tabs are left, closed and restored by the address; a hidden one has no subscription", async () => {
  const [one, two, three] = [await shell("one"), await shell("two"), await shell("three")];
  await using page = await open(`#/l/${one}|*${two}`);
  await page.shows("two> ");
  const subscribed = async (): Promise<readonly string[]> => {
    const clients = Clients.parse((await ask(stage().server.url, "/api/clients")).json);
    return clients.flatMap(({ subscriptions }) => subscriptions).toSorted();
  };
  await expect.poll(subscribed).toEqual([one, two].toSorted());
  await page.button("More").nth(1).click();
  await page.button("New tab").click();
  await choose(page, "three shell");
  await page.shows("three> ");
  await expect.poll(subscribed).toEqual([three]);
  expect(await addressOf(page)).toBe(`#/l/${one}|*${two},${three}?tab=2`);
  await page.page.keyboard.press("Control+Shift+PageUp");
  await page.shows("two> ");
  await page.page.goBack();
  await page.shows("three> ");
  await page.page.reload();
  await page.shows("three> ");
  // The list focuses a visible session.
  await page.page.getByRole("navigation", { name: "Sessions" }).locator(`a[href="#/s/${one}"]`).click();
  await page.shows("one> ");
  expect(await addressOf(page)).toBe(`#/l/${one}|${two},${three}`);
  await page.button("Close tab 1").click();
  await page.shows("three> ");
  expect(await addressOf(page)).toBe(`#/s/${three}`);
  await expect.poll(subscribed).toEqual([three]);
});

test("after another tab is closed the keys go to the terminal", async () => {
  const [one, two, three] = [await shell("one"), await shell("two"), await shell("three")];
  await using page = await open(`#/l/${one},${two},${three}`);
  await page.shows("one> ");
  await page.button("Close tab 2").click();
  await page.page.keyboard.type("echo stays-$((1 + 1))\n");
  await page.shows("\nstays-2\n");
  expect(await addressOf(page)).toBe(`#/l/${one},${three}`);
});

test("a session that is gone says so in its pane, which gets another one or is closed", async () => {
  const [one, two] = [await shell("one"), await shell("two")];
  await using page = await open(`#/l/${one}|*gone/nowhere`);
  await page.page.getByText("Session not found").first().waitFor();
  await expect.poll(async () => (await panes(page))[one]).toContain("one> ");
  await page.button("Choose another session").first().click();
  await page.page.getByRole("option", { name: "two shell" }).first().waitFor();
  await page.page.keyboard.type("two shell");
  await page.page.locator(`[role=option][href="#/s/${two}"]`).click();
  await page.shows("two> ");
  await page.button("Close pane").click();
  await expect.poll(() => addressOf(page)).toBe(`#/l/${one}|*${two}`);
});

test("a phone shows one pane, and a swipe leads to the next of the layout", async () => {
  const { server, chromium } = stage();
  const [one, two, three] = [await shell("one"), await shell("two"), await shell("three")];
  await using page = await chromium.open(`${server.url}/#/l/${one}|${two},${three}`, PHONE);
  await page.shows("one> ");
  expect(Object.keys(await panes(page))).toEqual([one]);
  const devtools = await page.page.context().newCDPSession(page.page);
  const swipeLeft = async (): Promise<void> => {
    // A finger pans a terminal that is wider than the page, as before it is fitted.
    const isWhole =
      "(({ scrollWidth, clientWidth }) => scrollWidth <= clientWidth)(document.querySelector('.terminal-pane'))";
    await page.phase("running");
    await widthBecomes(page, (cols) => cols < 80);
    await expect.poll(() => page.page.evaluate(isWhole)).toBe(true);
    await devtools.send("Input.dispatchTouchEvent", {
      type: "touchStart",
      touchPoints: [{ x: 320, y: 300 }],
    });
    for (const x of [250, 180, 120]) {
      await devtools.send("Input.dispatchTouchEvent", { type: "touchMove", touchPoints: [{ x, y: 300 }] });
    }
    await devtools.send("Input.dispatchTouchEvent", { type: "touchEnd", touchPoints: [] });
  };
  await swipeLeft();
  await page.shows("two> ");
  expect(await addressOf(page)).toBe(`#/l/${one}|*${two},${three}`);
  await swipeLeft();
  await page.shows("three> ");
  expect(Object.keys(await panes(page))).toEqual([three]);
});

test("a session that starts late does not replace the one in which the user went on to type", async () => {
  const one = await shell("one");
  await using page = await open(`#/s/${one}`);
  await page.shows("one> ");
  await page.page.keyboard.press("Control+Shift+E");
  const release = Promise.withResolvers<void>();
  await page.page.route("**/api/sessions", async (route) => {
    if (route.request().method() === "POST") await release.promise;
    await route.continue();
  });
  await page.button("Start a session").click();
  await page.page.getByLabel("Command").fill("cat");
  await page.page.getByLabel("Name", { exact: true }).fill("late");
  await page.button("Start").click();
  await page.page.locator(".pane").first().locator(".xterm-screen").click();
  await page.page.keyboard.type("echo before");
  await page.shows("echo before");
  release.resolve();
  await page.page.locator(".notice", { hasText: "has started" }).waitFor();
  await page.page.keyboard.type("-after");
  await page.shows("echo before-after");
  expect(Object.keys(await panes(page))).toEqual([one]);
});
