import { setTimeout as sleep } from "node:timers/promises";
import { z } from "zod";
import { Chromium } from "../../test/integration/browser/chromium.ts";
import type { Peer } from "../lib/peer.ts";
import { percentile } from "../lib/samples.ts";
import type { Metric, Scenario, Values } from "../lib/scenario.ts";
import type { Workshop } from "../lib/workshop.ts";
import { BarePage } from "../peers/bare-page.ts";
import { TtyhqProcess } from "../peers/ttyhq-process.ts";

const KEYS = 40;
const WARM_UP_KEYS = 5;
/** A slower page is measured with fewer keys. */
const PAGE_MS = 20_000;
/** Between a paint and the next key, so that keys fall at any time between two frames. */
const GAP_MS = { least: 40, more: 60 };
const WARM_UP_MS = 1_000;
const VIEWPORT = { width: 1400, height: 900 };
/** WebGL, rendered by the processor: pages can choose. */
const SOFTWARE_WEBGL = ["--use-angle=swiftshader", "--enable-unsafe-swiftshader"];

const LOADS = [
  { load: "idle", bytesPerSecond: 0 },
  { load: "5 MB/s", bytesPerSecond: 5_000_000 },
] as const;
/** ttyhq's page chooses its renderer. */
const PAGES = ["ttyhq", "bare, DOM", "bare, WebGL"] as const;

/** The latency of typing in a browser: from the key to the frame that shows its echo. */
export const typing: Scenario = {
  name: "typing",
  title: "Key to paint in Chromium without a GPU, beside a bare xterm.js page",
  isOptional: true,
  metrics: LOADS.flatMap(({ load }): readonly Metric[] => [
    ...PAGES.flatMap((page) =>
      ["p50", "p95"].map((part) => ({ name: `${load}, ${page}: ${part}`, unit: "ms", digits: 0 })),
    ),
    { name: `${load}: p50, times bare DOM`, unit: "ratio", digits: 2 },
  ]),
  takes: (peer) => peer.name === "ttyhq",
  run,
};

async function run(_: Peer, workshop: Workshop): Promise<Values> {
  await using server = await TtyhqProcess.start();
  await using bare = await BarePage.start(workshop.program);
  await using chromium = await Chromium.start({ args: SOFTWARE_WEBGL });
  const values: Record<string, number> = {};
  for (const { load, bytesPerSecond } of LOADS) {
    for (const page of PAGES) {
      const words = workshop.typing(bytesPerSecond);
      await using session = page === "ttyhq" ? await server.session([workshop.program, ...words]) : undefined;
      const url = session?.url ?? bare.url(words, page === "bare, WebGL" ? "WebGL" : "DOM");
      const times = await keyToPaint(chromium, url);
      values[`${load}, ${page}: p50`] = percentile(times, 50);
      values[`${load}, ${page}: p95`] = percentile(times, 95);
    }
    const [own = 0, other = 1] = ["ttyhq", "bare, DOM"].map((page) => values[`${load}, ${page}: p50`]);
    values[`${load}: p50, times bare DOM`] = own / other;
  }
  return values;
}

/**
 * Checks before each frame whether the last line counts the key. `lastLine` is a function of the bare page; on this
 * project's page `ttyhq` has the terminal's content. A message that is sent before a frame is drawn arrives after it.
 */
const WATCH = `{
  const lastLine = window.lastLine ?? (() => ttyhq.shownText ?? "");
  let pressed, waiting;
  const { port1, port2 } = new MessageChannel();
  port1.onmessage = () => waiting.resolve(performance.now() - pressed);
  addEventListener("keydown", (event) => { pressed = event.timeStamp; }, { capture: true });
  const look = () => {
    requestAnimationFrame(look);
    if (waiting?.isPainted !== false || pressed === undefined) return;
    if (!/(^|\\n)key \\d+\\s*$/.test(lastLine()) || Number(/key (\\d+)\\s*$/.exec(lastLine())[1]) < waiting.key) return;
    waiting.isPainted = true;
    port2.postMessage(0);
  };
  look();
  window.painted = (key) => {
    pressed = undefined;
    waiting = { key, isPainted: false, ...Promise.withResolvers() };
    window.painted.waiting = waiting;
  };
}`;

/** Of each key, in milliseconds. */
async function keyToPaint(chromium: Chromium, url: string): Promise<readonly number[]> {
  await using driver = await chromium.open(url, { viewport: VIEWPORT });
  const { page } = driver;
  const input = page.locator(".xterm-helper-textarea");
  await input.waitFor({ state: "attached" });
  await sleep(WARM_UP_MS);
  await input.focus();
  await page.evaluate(WATCH);
  const times: number[] = [];
  const end = performance.now() + PAGE_MS;
  for (let key = 1; key <= WARM_UP_KEYS + KEYS; key++) {
    if (times.length > WARM_UP_KEYS && performance.now() > end) break;
    await page.evaluate(`void painted(${key})`);
    await page.keyboard.press("x");
    times.push(z.number().parse(await page.evaluate("painted.waiting.promise")));
    await sleep(GAP_MS.least + Math.random() * GAP_MS.more);
  }
  return times.slice(WARM_UP_KEYS);
}
