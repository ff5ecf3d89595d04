// A real Chromium, with an empty profile and no background network traffic.
import { access, constants } from "node:fs/promises";
import { delimiter, join } from "node:path";
import { type Browser, type BrowserContextOptions, chromium } from "playwright-core";
import { PageDriver } from "./page-driver.ts";

const WHOLE = ["chromium", "chromium-browser", "google-chrome"];
/** Chromium without windows: a page costs two thirds of the CPU time, but it shows no notifications. */
const WITHOUT_WINDOWS = ["chromium-headless-shell", "chrome-headless-shell", ...WHOLE];
const ARGS = [
  "--no-sandbox",
  "--disable-gpu",
  "--disable-background-networking",
  "--disable-component-update",
  "--disable-dev-shm-usage",
  "--no-first-run",
];

export type ChromiumOptions = {
  readonly args?: readonly string[];
  /** For notifications. */
  readonly isWhole?: boolean;
};

let processBrowser: Promise<Browser> | undefined;

/** Disposal closes all its pages. */
export class Chromium implements AsyncDisposable {
  readonly #browser: Browser;
  readonly #scope = new AsyncDisposableStack();

  private constructor(browser: Browser) {
    this.#browser = browser;
  }

  /** Disposal ends the browser as well. */
  static async start(options: ChromiumOptions = {}): Promise<Chromium> {
    const started = new Chromium(await launch(options));
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

async function launch({ args = [], isWhole = false }: ChromiumOptions = {}): Promise<Browser> {
  const executablePath = await findProgram(isWhole ? WHOLE : WITHOUT_WINDOWS);
  return await chromium.launch({ executablePath, args: [...ARGS, ...args] });
}

async function findProgram(names: readonly string[]): Promise<string> {
  for (const name of names) {
    for (const folder of (process.env.PATH ?? "").split(delimiter)) {
      const path = join(folder, name);
      const isThere = await access(path, constants.X_OK).then(
        () => true,
        () => false,
      );
      if (isThere) return path;
    }
  }
  throw new Error(
    "the tests of the page need Chromium: on Debian `apt-get install chromium chromium-headless-shell`",
  );
}
