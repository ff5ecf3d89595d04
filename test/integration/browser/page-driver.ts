// The page as a person uses it. The terminal's content is read through `ttyhq` in the page (src/web/diagnosis.ts).
import type { Locator, Page } from "playwright-core";
import { z } from "zod";

const State = z.object({
  text: z.string().optional(),
  size: z.object({ cols: z.int(), rows: z.int() }).optional(),
  phase: z.string().optional(),
  connection: z.string().optional(),
});

const WAIT_MS = 60_000;
const POLL_MS = 50;

/** Disposal closes the window with its profile. */
export class PageDriver implements AsyncDisposable {
  readonly page: Page;

  constructor(page: Page) {
    this.page = page;
    page.setDefaultTimeout(WAIT_MS);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.page.context().close();
  }

  /** Another tab of the same profile. */
  async another(url: string): Promise<PageDriver> {
    const tab = await this.page.context().newPage();
    await tab.goto(url);
    return new PageDriver(tab);
  }

  button(name: string): Locator {
    return this.page.getByRole("button", { name, exact: true });
  }

  /** Starts a program by the form and waits for its terminal; returns its id. `machine`: at an HQ. */
  async start(command: string, { cwd = "/tmp", name = "", machine = "" } = {}): Promise<string> {
    const { page } = this;
    // Otherwise the terminal gets the size of the window when it can, perhaps after the next input.
    await this.connection("open");
    const link = machine === "" ? "New session" : `New session on ${machine}`;
    await page.getByRole("link", { name: link, exact: true }).click();
    await page.getByLabel("Command").fill(command);
    await page.getByLabel("Folder").fill(cwd);
    await page.getByLabel("Name", { exact: true }).fill(name);
    await this.button("Start").click();
    await page.waitForURL(/#\/s\//);
    await this.phase("running", "ended");
    return page.url().replace(/^.*#\/s\//, "");
  }

  /** A shell with a unique prompt. */
  async startShell(machine?: string): Promise<string> {
    const on = machine === undefined ? {} : { machine };
    const id = await this.start("env PS1='ready> ' bash --norc --noprofile -i", { name: "shell", ...on });
    await this.shows("ready> ");
    return id;
  }

  async type(text: string): Promise<void> {
    await this.page.locator(".xterm-helper-textarea").focus();
    await this.page.keyboard.type(text);
  }

  /** Types a line and Enter. */
  async enter(line: string): Promise<void> {
    await this.type(line);
    await this.page.keyboard.press("Enter");
  }

  async interrupt(): Promise<void> {
    await this.page.locator(".xterm-helper-textarea").focus();
    await this.page.keyboard.press("Control+C");
  }

  /** Simulates the browser's paste of the clipboard. */
  async paste(text: string): Promise<void> {
    await this.page.evaluate(`{
      const clipboardData = new DataTransfer();
      clipboardData.setData("text/plain", ${JSON.stringify(text)});
      const paste = new ClipboardEvent("paste", { clipboardData, bubbles: true, cancelable: true });
      document.querySelector(".xterm-helper-textarea").dispatchEvent(paste);
    }`);
  }

  async state(): Promise<z.infer<typeof State>> {
    const { page } = this;
    return State.parse(
      await page.evaluate(
        "({ text: ttyhq.text, size: ttyhq.size, phase: ttyhq.phase, connection: ttyhq.connection })",
      ),
    );
  }

  async text(): Promise<string> {
    return (await this.state()).text ?? "";
  }

  /** The size of the shown terminal, in cells. */
  async size(): Promise<{ readonly cols: number; readonly rows: number }> {
    const { size } = await this.state();
    if (size === undefined) throw new Error("no terminal is open");
    return size;
  }

  /** The number of received bytes of the session's output. */
  async received(): Promise<number> {
    return z.int().parse(await this.page.evaluate("ttyhq.nextOffset"));
  }

  /** Waits until the terminal's content contains the text, or matches the pattern. */
  async shows(wanted: string | RegExp): Promise<void> {
    const pattern = wanted instanceof RegExp ? wanted : new RegExp(escapeText(wanted));
    const test = `new RegExp(${JSON.stringify(pattern.source)}, "${pattern.flags}")`;
    await this.#until(`${test}.test(ttyhq.text ?? "")`, String(wanted));
  }

  async phase(...kinds: readonly string[]): Promise<void> {
    await this.#until(`${JSON.stringify(kinds)}.includes(ttyhq.phase)`, `phase ${kinds.join(" or ")}`);
  }

  async connection(kind: string): Promise<void> {
    await this.#until(`ttyhq.connection === ${JSON.stringify(kind)}`, `connection ${kind}`);
  }

  async sizeBecomes(size: { readonly cols?: number; readonly rows?: number }): Promise<void> {
    const parts = Object.entries(size).map(([name, cells]) => `ttyhq.size?.${name} === ${cells}`);
    await this.#until(parts.join(" && "), `the size ${JSON.stringify(size)}`);
  }

  async titleBecomes(title: string): Promise<void> {
    await this.#until(`document.title === ${JSON.stringify(title)}`, `the title ${title}`);
  }

  /** Waits until the terminal has parsed everything received. */
  async settled(): Promise<void> {
    await this.#until("ttyhq.unparsedBytes === 0", "all output parsed");
  }

  // Polled in the page itself. Playwright's own waiting generates code from text in the page, which its
  // Content-Security-Policy forbids.
  async #until(condition: string, what: string): Promise<void> {
    const isTrue = await this.page.evaluate(`new Promise((resolve) => {
      const deadline = performance.now() + ${WAIT_MS};
      const look = () => {
        if (${condition}) resolve(true);
        else if (performance.now() > deadline) resolve(false);
        else setTimeout(look, ${POLL_MS});
      };
      look();
    })`);
    if (isTrue === true) return;
    const { text = "no terminal", ...state } = await this.state();
    const end = text.trimEnd().slice(-800);
    throw new Error(`waited in vain for ${what}: ${JSON.stringify(state)}, the terminal ends with\n${end}`);
  }
}

function escapeText(text: string): string {
  return text.replace(/[.*+?^${}()|[\]\\]/g, "\\$&");
}
