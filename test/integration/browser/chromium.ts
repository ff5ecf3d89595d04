// A real Chromium, with an empty profile and no background network traffic.
import { access, constants } from "node:fs/promises";
import { delimiter, join } from "node:path";
import { type Browser, type BrowserContextOptions, chromium } from "playwright-core";
import { PageDriver } from "./page-driver.ts";

const NAMES = ["chromium", "chromium-browser", "google-chrome"];
/**
 * Renderers that Chromium starts for each window and page although no test shows them: the popups of its address bar,
 * and a spare for the next page. They cost half of its CPU time.
 */
const UNNEEDED = [
  "PreloadTopChromeWebUI",
  "SpareRendererForSitePerProcess",
  "WebUIOmniboxAimPopup",
  "WebUIOmniboxFullPopup",
  "WebUIOmniboxPopup",
];
/** Chromium honours only the last --disable-features, so ours repeats the list of Playwright. */
const DISABLED_BY_PLAYWRIGHT = [
  "AimEnabled",
  "AvoidCorsURLLoaderRestartOnRedirect",
  "AvoidUnnecessaryBeforeUnloadCheckSync",
  "DestroyProfileOnBrowserClose",
  "HttpsFirstBalancedModeAutoEnable",
  "HttpsUpgrades",
  "LensOverlay",
  "MediaRouter",
  "NetworkTimeServiceQuerying",
  "OptimizationHints",
  "PaintHolding",
  "PreconnectToSearch",
  "ThirdPartyStoragePartitioning",
];
const ARGS = [
  "--no-sandbox",
  "--disable-gpu",
  "--disable-background-networking",
  "--disable-component-update",
  "--disable-dev-shm-usage",
  "--no-first-run",
  `--disable-features=${[...UNNEEDED, ...DISABLED_BY_PLAYWRIGHT].join(",")}`,
];

let processBrowser: Promise<Browser> | undefined;

/** Disposal closes all its pages. */
export class Chromium implements AsyncDisposable {
  readonly #browser: Browser;
  readonly #scope = new AsyncDisposableStack();

  private constructor(browser: Browser) {
    this.#browser = browser;
  }

  /** Disposal ends the browser as well. */
  static async start(more: readonly string[] = []): Promise<Chromium> {
    const started = new Chromium(await launch(more));
    started.#scope.defer(() => started.#browser.close());
    return started;
  }

  /** The browser of this process, with which it ends: a start costs as much CPU time as several pages. */
  static async ofProcess(): Promise<Chromium> {
    processBrowser ??= launch().then((browser) =>
      browser.on("disconnected", () => (processBrowser = undefined)),
    );
    return new Chromium(await processBrowser);
  }

  /** A page in a profile of its own. */
  async open(url: string, options: BrowserContextOptions = {}): Promise<PageDriver> {
    const context = await this.#browser.newContext({
      viewport: { width: 1100, height: 700 },
      colorScheme: "dark",
      ...options,
    });
    this.#scope.defer(() => context.close());
    const page = await context.newPage();
    await page.goto(url);
    return new PageDriver(page);
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.#scope.disposeAsync();
  }
}

async function launch(more: readonly string[] = []): Promise<Browser> {
  return await chromium.launch({ executablePath: await findChromium(), args: [...ARGS, ...more] });
}

async function findChromium(): Promise<string> {
  for (const folder of (process.env.PATH ?? "").split(delimiter)) {
    for (const name of NAMES) {
      const path = join(folder, name);
      const isThere = await access(path, constants.X_OK).then(
        () => true,
        () => false,
      );
      if (isThere) return path;
    }
  }
  throw new Error("the tests of the page need Chromium: on Debian `apt-get install chromium`");
}
