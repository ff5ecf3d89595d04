import { expect, test } from "vitest";
import { ask } from "../harness/http.ts";
import { useStage } from "./stage.ts";

const stage = useStage();
const LARGE = { viewport: { width: 1400, height: 800 } };
const SMALL = { viewport: { width: 700, height: 500 } };

test("a second window shows the session at its size until it is told to fit", async () => {
  const { server, chromium } = stage();
  await using large = await chromium.open(server.url, LARGE);
  await large.startShell();
  // By then it has the size of the window.
  await large.enter("echo here-$((1 + 1))");
  await large.shows("\nhere-2\n");
  const size = await large.size();
  await using small = await chromium.open(large.page.url(), SMALL);
  await expect.poll(() => small.size()).toEqual(size);
  const fit = `${size.cols} × ${size.rows} · Fit to my window`;
  await small.button(fit).click();
  await expect.poll(async () => (await small.size()).rows).toBeLessThan(size.rows);
  const fitted = await small.size();
  await large.sizeBecomes(fitted);
  await large.button(`${fitted.cols} × ${fitted.rows} · Fit to my window`).waitFor();
  await large.enter("stty size");
  await large.shows(`\n${fitted.rows} ${fitted.cols}\n`);
  await small.shows(`\n${fitted.rows} ${fitted.cols}\n`);
});

test("a program's query is answered by one of two windows, and not again by a later one", async () => {
  const { server, chromium } = stage();
  await using first = await chromium.open(server.url);
  await first.startShell();
  await using second = await chromium.open(first.page.url());
  await second.phase("running");
  // Any other answer would be typed at the prompt, where it is visible.
  await first.enter(
    String.raw`printf '\e[c'; IFS= read -rsdc reply; echo; echo "answer: $(printf %q "$reply")"`,
  );
  await first.shows(/\nanswer: \S+1\\?;2\S*\n/);
  await first.enter("echo end-$((1 + 1))");
  await first.shows("\nend-2\nready> ");
  await using third = await chromium.open(first.page.url());
  await third.shows("\nend-2\nready> ");
  await third.enter("echo last-$((1 + 1))");
  await third.shows(/\nend-2\nready> echo last-\$\(\(1 \+ 1\)\)\nlast-2\n/);
});

test("a session that only previews of this window show takes the window's size when it is opened", async () => {
  const { server, chromium } = stage();
  await using page = await chromium.open(server.url);
  const body = { command: ["cat"], cols: 50, rows: 10 };
  // The preview ends while the session is asked for: it may count or not.
  for (let turn = 0; turn < 4; turn += 1) {
    const { id } = (await ask(server.url, "/api/sessions", { body })).json;
    const viewers = async () => (await ask(server.url, `/api/sessions/${id}`)).json.viewers;
    await page.page.evaluate("location.hash = '#/previews'");
    await expect.poll(viewers).toBe(1);
    await page.page.locator(`.preview[href="#/s/${id}"]`).click();
    await page.phase("running");
    await expect.poll(async () => (await page.size()).cols).toBeGreaterThan(50);
  }
});
