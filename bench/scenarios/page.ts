import { setTimeout as sleep } from "node:timers/promises";
import { z } from "zod";
import { Chromium } from "../../test/integration/browser/chromium.ts";
import type { PageDriver } from "../../test/integration/browser/page-driver.ts";
import type { Peer } from "../lib/peer.ts";
import type { Scenario, Values } from "../lib/scenario.ts";
import type { Workshop } from "../lib/workshop.ts";
import { BarePage } from "../peers/bare-page.ts";
import { TtyhqProcess } from "../peers/ttyhq-process.ts";

const VIEWPORT = { width: 1400, height: 900 };
/** Shows all previews at once. */
const WALL = { width: 1900, height: 1500 };
const PREVIEWS = 20;
const BUSY = ["sh", "-c", "while :; do date +%N; sleep 0.2; done"];
const SETTLE_MS = 3_000;
const WATCHED_MS = 15_000;

/** The cost of the page beside a bare one, and how soon it reports a silent server. */
export const page: Scenario = {
  name: "page",
  title: "The page in Chromium without a GPU: first load, dead network, previews",
  isOptional: true,
  metrics: [
    ...["ttyhq", "bare"].flatMap((one) => [
      { name: `load, ${one}`, unit: "kB", digits: 0 },
      { name: `load to a terminal with text, ${one}`, unit: "ms", digits: 0 },
    ]),
    { name: "device offline, told after", unit: "ms", digits: 0 },
    { name: "silent server, told after", unit: "ms", digits: 0 },
    { name: `${PREVIEWS} previews, renderer`, unit: "% of a core", digits: 1 },
    { name: `${PREVIEWS} previews, compositor`, unit: "% of a core", digits: 1 },
  ],
  takes: (peer) => peer.name === "ttyhq",
  run,
};

async function run(_: Peer, workshop: Workshop): Promise<Values> {
  await using server = await TtyhqProcess.start();
  await using chromium = await Chromium.start();
  const values = {
    ...(await loads(server, chromium, workshop)),
    ...(await outages(server, chromium, workshop)),
  };
  return { ...values, ...(await previews(server, chromium)) };
}

async function loads(server: TtyhqProcess, chromium: Chromium, workshop: Workshop): Promise<Values> {
  await using bare = await BarePage.start(workshop.program);
  const words = workshop.typing(0);
  await using session = await server.session([workshop.program, ...words]);
  const values: Record<string, number> = {};
  for (const [name, url] of [
    ["ttyhq", session.url],
    ["bare", bare.url(words)],
  ] as const) {
    await using driver = await chromium.open(url, { viewport: VIEWPORT });
    values[`load to a terminal with text, ${name}`] = z.number().parse(await driver.page.evaluate(SHOWN));
    values[`load, ${name}`] = z.number().parse(await driver.page.evaluate(TRANSFERRED)) / 1000;
  }
  return values;
}

/** From the start of the navigation to the frame after the one with the program's line. */
const SHOWN = `new Promise((done) => {
  const look = () => {
    const text = window.lastLine?.() ?? window.ttyhq?.shownText ?? "";
    requestAnimationFrame(text.includes("key 0") ? done : look);
  };
  look();
})`;

/** Compressed if the server compresses, including API requests. */
const TRANSFERRED = `[...performance.getEntriesByType("navigation"), ...performance.getEntriesByType("resource")]
  .reduce((sum, { encodedBodySize }) => sum + encodedBodySize, 0)`;

async function outages(server: TtyhqProcess, chromium: Chromium, workshop: Workshop): Promise<Values> {
  await using session = await server.session([workshop.program, ...workshop.typing(0)]);
  await using driver = await chromium.open(session.url, { viewport: VIEWPORT });
  await driver.connection("open");
  const context = driver.page.context();
  const offline = await told(driver, /This device is offline/, async () => await context.setOffline(true));
  await context.setOffline(false);
  await driver.connection("open");
  const [pid = 0] = server.pids;
  try {
    const freeze = async (): Promise<void> => void process.kill(pid, "SIGSTOP");
    const silent = await told(driver, /Connecting…|No connection/, freeze);
    return { "device offline, told after": offline, "silent server, told after": silent };
  } finally {
    process.kill(pid, "SIGCONT");
  }
}

/** Milliseconds from `begin` until the page shows the text. */
async function told({ page }: PageDriver, words: RegExp, begin: () => Promise<void>): Promise<number> {
  const start = performance.now();
  await begin();
  await page.getByText(words).first().waitFor();
  return performance.now() - start;
}

async function previews(server: TtyhqProcess, chromium: Chromium): Promise<Values> {
  await using sessions = new AsyncDisposableStack();
  for (let n = 0; n < PREVIEWS; n++) sessions.use(await server.session(BUSY));
  await using driver = await chromium.open(`${server.origin}/#/previews`, { viewport: WALL });
  await driver.page
    .locator("canvas.drawn")
    .nth(PREVIEWS - 1)
    .waitFor();
  await sleep(SETTLE_MS);
  const before = await cpuSeconds(driver);
  const start = performance.now();
  await sleep(WATCHED_MS);
  const after = await cpuSeconds(driver);
  const seconds = (performance.now() - start) / 1000;
  const percent = (type: string): number =>
    (100 * ((after.get(type) ?? 0) - (before.get(type) ?? 0))) / seconds;
  return {
    [`${PREVIEWS} previews, renderer`]: percent("renderer"),
    [`${PREVIEWS} previews, compositor`]: percent("GPU"),
  };
}

/** CPU time of the browser's processes, by their kinds. */
async function cpuSeconds({ page }: PageDriver): Promise<ReadonlyMap<string, number>> {
  const browser = page.context().browser();
  if (browser === null) throw new Error("the page has no browser");
  const cdp = await browser.newBrowserCDPSession();
  const { processInfo } = await cdp.send("SystemInfo.getProcessInfo");
  await cdp.detach();
  const sums = new Map<string, number>();
  for (const { type, cpuTime } of processInfo) sums.set(type, (sums.get(type) ?? 0) + cpuTime);
  return sums;
}
