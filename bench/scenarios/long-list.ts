import { z } from "zod";
import { Chromium } from "../../test/integration/browser/chromium.ts";
import { FleetStage } from "../lib/fleet-stage.ts";
import type { Peer } from "../lib/peer.ts";
import { percentile } from "../lib/samples.ts";
import type { Scenario, Values } from "../lib/scenario.ts";
import type { Workshop } from "../lib/workshop.ts";

const SIZE = { remotes: 20, sessionsEach: 50 };
const VIEWPORT = { width: 1400, height: 900 };
const FRAMES = 200;
const PX_A_FRAME = 60;
/** Grouped by machine, and as one list. */
const ORDERS = ["machine", "newest"] as const;

/** Scrolling through the list of the page. */
export const longList: Scenario = {
  name: "long-list",
  title: `Scrolling the page's list of ${SIZE.remotes * SIZE.sessionsEach} sessions by ${PX_A_FRAME} pixels a frame`,
  isOptional: true,
  metrics: ORDERS.flatMap((order) => [
    { name: `${order}: frame p50`, unit: "ms", digits: 1 },
    { name: `${order}: frame p95`, unit: "ms", digits: 1 },
    { name: `${order}: rows drawn`, unit: "at most", digits: 0 },
  ]),
  takes: (peer) => peer.name === "ttyhq-hq",
  run,
};

const Scrolled = z.object({
  frames: z.array(z.number()),
  rows: z.int(),
});

/** One step before each frame. */
const SCROLL = `new Promise((done) => {
  const list = document.querySelector(".sessions");
  const scrolled = { frames: [], rows: 0 };
  let before;
  const step = (now) => {
    if (before !== undefined) scrolled.frames.push(now - before);
    before = now;
    list.scrollTop += ${PX_A_FRAME};
    scrolled.rows = Math.max(scrolled.rows, list.querySelectorAll("li").length);
    if (scrolled.frames.length === ${FRAMES}) done(scrolled);
    else requestAnimationFrame(step);
  };
  requestAnimationFrame(step);
})`;

async function run(peer: Peer, workshop: Workshop): Promise<Values> {
  await using stage = await FleetStage.open(peer, workshop, SIZE);
  await stage.fill();
  await using chromium = await Chromium.start();
  const values: Record<string, number> = {};
  for (const order of ORDERS) {
    const localStorage = [{ name: "ttyhq.preferences", value: JSON.stringify({ order }) }];
    const storageState = { cookies: [], origins: [{ origin: stage.hq.origin, localStorage }] };
    await using driver = await chromium.open(stage.hq.origin, { viewport: VIEWPORT, storageState });
    await driver.page.locator(".sessions li").first().waitFor();
    const { frames, rows } = Scrolled.parse(await driver.page.evaluate(SCROLL));
    values[`${order}: frame p50`] = percentile(frames, 50);
    values[`${order}: frame p95`] = percentile(frames, 95);
    values[`${order}: rows drawn`] = rows;
  }
  return values;
}
