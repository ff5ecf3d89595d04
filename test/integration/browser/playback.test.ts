// The recording of a session, played in the page.
import { readFile } from "node:fs/promises";
import { expect, test } from "vitest";
import { z } from "zod";
import { ask } from "../harness/http.ts";
import type { PageDriver } from "./page-driver.ts";
import { createSession } from "./page-server.ts";
import { useStage } from "./stage.ts";

const stage = useStage();
const Events = z.array(z.tuple([z.number(), z.string(), z.string()]));

/** The content of the player's terminal; the live one is behind it. */
async function screen({ page }: PageDriver): Promise<string> {
  return await page.locator(".playback .xterm-rows").innerText();
}

async function position({ page }: PageDriver): Promise<number> {
  return Number(await page.getByRole("slider", { name: "Position" }).inputValue());
}

/** Output in three steps, each after a line of input, with a marker after the first. */
async function recordedSteps(page: PageDriver): Promise<string> {
  const id = await page.start("sh -c 'echo step-one; read a; echo step-two; read a; echo step-three'");
  await page.shows("step-one");
  const init = { method: "POST", body: { label: "after one" } };
  expect((await ask(stage().server.url, `/api/sessions/${id}/markers`, init)).status).toBe(200);
  await page.enter("");
  await page.shows("step-two");
  await page.enter("");
  await page.phase("ended");
  return id;
}

async function recordingOf(id: string): Promise<z.infer<typeof Events>> {
  const { text } = await ask(stage().server.url, `/api/sessions/${id}/recording?follow=0`);
  return Events.parse(
    text
      .trim()
      .split("\n")
      .slice(1)
      .map((line) => JSON.parse(line)),
  );
}

test("an ended session is played to its end, paused, and sought in by keys, slider and markers", async () => {
  await using page = await stage().chromium.open(stage().server.url);
  const id = await recordedSteps(page);
  const events = await recordingOf(id);
  const marker = events.find(([, code]) => code === "m");
  await page.button("Play").click();
  await page.page.getByRole("region", { name: "Recording" }).waitFor();
  await page.page.getByLabel("Speed").selectOption("16");
  await expect.poll(() => screen(page)).toContain("step-three");
  await page.button("Play").waitFor();
  await page.page.getByRole("button", { name: /^Marker after one at / }).click();
  // The screen is empty for a moment while it is redrawn.
  await expect.poll(() => screen(page)).toMatch(/step-one(?!.*step-two)/s);
  expect(await position(page)).toBeCloseTo(marker?.[0] ?? Number.NaN, 1);
  await page.button("Play").focus();
  const pressed = async <T>(key: string, seen: (page: PageDriver) => Promise<T>): Promise<T> => {
    await page.page.keyboard.press(key);
    return await seen(page);
  };
  // Five seconds with each press.
  await expect.poll(() => pressed("ArrowRight", screen)).toContain("step-three");
  await expect.poll(() => pressed("ArrowLeft", position)).toBe(0);
  await page.page.getByRole("slider", { name: "Position" }).press("End");
  await expect.poll(() => screen(page)).toContain("step-three");
});

test("a link opens the recording at its time, and pauses are cut to the chosen length", async () => {
  await using page = await stage().chromium.open(stage().server.url);
  const id = await recordedSteps(page);
  const times = (await recordingOf(id)).map(([time]) => time);
  const last = times.at(-1) ?? Number.NaN;
  const cut = times.reduce((sum, time, index) => sum + Math.min(0.5, time - (times[index - 1] ?? 0)), 0);
  await using guest = await stage().chromium.open(`${stage().server.url}/#/s/${id}?t=${last.toFixed(3)}`);
  await expect.poll(() => screen(guest)).toContain("step-two");
  const duration = async () => Number(await guest.page.getByRole("slider").getAttribute("max"));
  await expect.poll(duration).toBeCloseTo(last, 3);
  await guest.page.getByRole("slider").press("Home");
  await guest.page.getByLabel("Pauses").selectOption("0.5");
  await expect.poll(duration).toBeCloseTo(cut, 3);
  await guest.page.getByRole("link", { name: "Close" }).click();
  await guest.page.getByRole("region", { name: "Recording" }).waitFor({ state: "detached" });
  expect(guest.page.url()).toMatch(/#\/s\/[^?]+$/);
});

test("a recording is saved as text and as asciicast", async () => {
  await using page = await stage().chromium.open(stage().server.url);
  await recordedSteps(page);
  await page.button("Play").click();
  const save = async (name: string): Promise<string> => {
    const [download] = await Promise.all([
      page.page.waitForEvent("download"),
      page.page.getByRole("button", { name, exact: true }).click(),
    ]);
    return await readFile(await download.path(), "utf8");
  };
  await expect.poll(() => save("Text")).toMatch(/^step-one\n+step-two\n+step-three\n$/);
  expect(await save(".cast")).toMatch(/^\{"version":\s*2.*\n.*step-one/s);
});

test("a text export that is left before its end says so and saves no part of the recording", async () => {
  await using page = await stage().chromium.open(stage().server.url);
  await page.startShell();
  await page.enter("seq 1 200000; echo en''d");
  await page.shows("\nend\n");
  await page.button("More").click();
  await page.button("Play the recording").click();
  // By then the recording is loaded; before that there may be no player.
  await expect.poll(() => screen(page)).toContain("ready> ");
  let saved = 0;
  page.page.on("download", () => {
    saved += 1;
  });
  const leave = await page.page.getByRole("link", { name: "Back to live" }).elementHandle();
  // Both in the same moment.
  await page.button("Text").evaluate((button: HTMLElement, link) => {
    button.click();
    (link as HTMLElement).click();
  }, leave);
  await page.page.getByText("The text was not saved: the recording was closed").waitFor();
  expect(saved).toBe(0);
});

test("a running session goes on while its recording is played, and takes no keys from the player", async () => {
  await using page = await stage().chromium.open(stage().server.url);
  await page.startShell();
  await page.enter("echo before-$((1 + 1))");
  await page.shows("\nbefore-2\n");
  await page.button("More").click();
  await page.button("Play the recording").click();
  await expect.poll(() => screen(page)).toContain("before-2");
  // The search is about the terminal behind the player.
  await page.page.keyboard.press("Control+Shift+F");
  expect(await page.button("Search").count()).toBe(0);
  await page.page.keyboard.type("xyz ");
  await page.page.getByRole("link", { name: "Back to live" }).click();
  await page.page.getByRole("region", { name: "Recording" }).waitFor({ state: "detached" });
  expect(await page.page.getByLabel("Search the terminal").count()).toBe(0);
  await page.page.keyboard.type("echo live-$((2 + 2))");
  await page.page.keyboard.press("Enter");
  await page.shows("ready> echo live-$((2 + 2))\nlive-4\n");
});

test("going back in time from a running session shows any moment and what comes meanwhile, and leads back to the same byte", async () => {
  const { server, chromium } = stage();
  await using page = await chromium.open(server.url);
  await page.startShell();
  const id = /#\/s\/([\w-]+)/.exec(page.page.url())?.[1] ?? "";
  const enter = async (text: string): Promise<void> => {
    const init = { method: "POST", body: { text: `${text}\r` } };
    expect((await ask(server.url, `/api/sessions/${id}/input`, init)).status).toBe(200);
  };
  const slider = page.page.getByRole("slider", { name: "Position" });
  const end = async (): Promise<number> => Number(await slider.getAttribute("max"));
  await page.enter("echo before-$((1 + 1))");
  await page.shows("\nbefore-2\nready> ");
  await page.page.keyboard.press("Control+Shift+H");
  // The recording up to now, paused.
  await expect.poll(() => screen(page)).toContain("before-2");
  await page.button("Play").waitFor();
  const opened = await end();
  await enter("echo meanwhile-$((2 + 2))");
  await expect.poll(end).toBeGreaterThan(opened);
  await expect.poll(() => recorded(id)).toContain("meanwhile-4");
  const full = (await recordingOf(id)).at(-1)?.[0] ?? Number.NaN;
  await expect.poll(end).toBeGreaterThan(full - 0.001);
  expect(await position(page)).toBeCloseTo(opened, 3);
  expect(await screen(page)).not.toContain("meanwhile-4");
  await slider.press("Home");
  await expect.poll(() => screen(page)).not.toContain("before-2");
  await slider.press("End");
  await expect.poll(() => screen(page)).toContain("meanwhile-4");
  await page.button("Play").click();
  await page.page.getByText("Live", { exact: true }).waitFor();
  await enter("echo after-$((3 + 3))");
  await expect.poll(() => screen(page)).toContain("after-6");
  await page.page.getByRole("link", { name: "Back to live" }).click();
  await page.page.getByRole("region", { name: "Recording" }).waitFor({ state: "detached" });
  await page.page.keyboard.type("echo live-$((4 + 4))\n");
  await page.shows("\nlive-8\nready> ");
  const { text } = await ask(server.url, `/api/sessions/${id}/text?scrollback=1`);
  expect((await page.text()).trim()).toBe(text.trim());
});

async function recorded(id: string): Promise<string> {
  return (await recordingOf(id)).map(([, , data]) => data).join("");
}

test("leaving a recording keeps the panes that were opened beside it", async () => {
  const { server, chromium } = stage();
  const [played, beside] = [
    await createSession(server, ["true"], "played"),
    await createSession(server, ["true"], "beside"),
  ];
  await using page = await chromium.open(`${server.url}/#/s/${played}?t=0`);
  await page.phase("ended");
  await page.button("Play").waitFor();
  await page.page.keyboard.press("Control+Shift+E");
  await page.page.keyboard.type("beside");
  await page.page.locator("[role=option][aria-selected=true]", { hasText: "beside" }).waitFor();
  await page.page.keyboard.press("Enter");
  await page.page.waitForURL(`**/#/l/${played}@0|*${beside}`);
  await page.page.getByRole("region", { name: "Recording" }).getByRole("link", { name: "Close" }).click();
  await page.page.getByRole("region", { name: "Recording" }).waitFor({ state: "detached" });
  expect(await page.page.evaluate("location.hash")).toBe(`#/l/${played}|${beside}`);
});

test("the output of a session that ends while its recording loads is played as well", async () => {
  await using page = await stage().chromium.open(stage().server.url);
  const id = await page.start("sh -c 'echo early; read line; echo late'");
  await page.shows("early");
  await page.page.route(`**/api/sessions/${id}/recording*`, async (route) => {
    const response = await route.fetch();
    await ask(stage().server.url, `/api/sessions/${id}/input`, { method: "POST", body: { text: "\n" } });
    await page.phase("ended");
    await route.fulfill({ response });
  });
  await page.button("Go back in time").click();
  const slider = page.page.getByRole("slider", { name: "Position" });
  await page.phase("ended");
  const [end = Number.NaN] = (await recordingOf(id)).at(-1) ?? [];
  // To the microsecond: the echo of the line may come less than a millisecond before.
  await expect.poll(async () => Number(await slider.getAttribute("max"))).toBeCloseTo(end, 6);
  await slider.press("End");
  await expect.poll(() => screen(page)).toContain("late");
});

test("a recording that cannot be loaded, and a refused copy, are told", async () => {
  await using page = await stage().chromium.open(stage().server.url);
  const id = await page.start("sh -c 'echo once'");
  await page.phase("ended");
  await page.page.route(`**/api/sessions/${id}/recording*`, (route) => route.abort());
  await page.page.evaluate("navigator.clipboard.writeText = () => Promise.reject(new Error('denied'))");
  await page.button("Play").click();
  const view = page.page.getByRole("region", { name: "Recording" });
  await view.getByText("The recording was not loaded").waitFor();
  expect(await view.getByLabel("Loading the recording").count()).toBe(0);
  await view.getByRole("button", { name: "Copy a link to this time" }).click();
  await view.getByRole("button", { name: "The browser refused to copy" }).waitFor();
});
