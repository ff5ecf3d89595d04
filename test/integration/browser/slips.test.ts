// Edge cases: a key with another meaning, a browser without storage, a narrow screen.
import { execFileSync } from "node:child_process";
import { mkdtempDisposableSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { z } from "zod";
import { ask } from "../harness/http.ts";
import { useStage } from "./stage.ts";

const Widths = z.object({ clientWidth: z.number(), scrollWidth: z.number() });

const stage = useStage({ flags: ["--no-auth", "--max-recording-size", "64KiB"] });

test("Escape leaves the name of a session as it was", async () => {
  const { server, chromium } = stage();
  await using page = await chromium.open(server.url);
  const id = await page.start("sleep 1000", { name: "as it was" });
  await page.button("as it was").click();
  const field = page.page.getByLabel("Name of the session");
  await field.fill("another");
  await field.press("Escape");
  await page.button("as it was").waitFor();
  expect((await ask(server.url, `/api/sessions/${id}`)).json).toMatchObject({ name: "as it was" });
});

test("the Enter that ends a composition does not end the name", async () => {
  const { server, chromium } = stage();
  await using page = await chromium.open(server.url);
  await page.start("sleep 1000", { name: "composed" });
  await page.button("composed").click();
  const field = page.page.getByLabel("Name of the session");
  await field.fill("かん");
  for (const key of ["Enter", "Escape"]) {
    await field.dispatchEvent("keydown", { key, isComposing: true, bubbles: true });
    // Safari's, which ends the composition before the key.
    await field.dispatchEvent("keydown", { key, keyCode: 229, bubbles: true });
    expect(await field.inputValue()).toBe("かん");
  }
  await field.press("Enter");
  await page.button("かん").waitFor();
});

test("after a session is renamed by Enter, or not by Escape, keys go to its terminal", async () => {
  const { server, chromium } = stage();
  await using page = await chromium.open(server.url);
  await page.startShell();
  for (const key of ["Escape", "Enter"]) {
    await page.page.getByTitle(/rename/).click();
    await page.page.getByLabel("Name of the session").fill("renamed");
    await page.page.keyboard.press(key);
    await page.page.keyboard.type(`echo ${key}-$((1 + 1))\n`);
    await page.shows(`\n${key}-2\n`);
  }
  await page.button("renamed").waitFor();
});

test("the Enter that ends the name of a session is not typed into its terminal", async () => {
  const { server, chromium } = stage();
  await using page = await chromium.open(server.url);
  await page.start(`sh -c 'read line; echo "read <$line>"; cat'`, { name: "unnamed" });
  await page.button("unnamed").click();
  await page.page.getByLabel("Name of the session").fill("named");
  await page.page.keyboard.press("Enter");
  await page.page.keyboard.type("x\n");
  await page.shows(/read <x?>/);
  expect(await page.text()).toContain("read <x>");
});

test("after a question beside the terminal is answered, keys go to the terminal", async () => {
  const { server, chromium } = stage();
  await using page = await chromium.open(server.url);
  const id = await page.startShell();
  // By then it has the size of the window, which does not replace the next one.
  await page.enter("echo here-$((1 + 1))");
  await page.shows("\nhere-2\n");
  await ask(server.url, `/api/sessions/${id}/resize`, { method: "POST", body: { cols: 60, rows: 20 } });
  await page.button("60 × 20 · Fit to my window").click();
  await page.page.keyboard.type("echo fitted-$((1 + 1))\n");
  await page.shows("\nfitted-2\n");
  await page.enter(String.raw`printf '\e]52;c;aGk=\a'`);
  await page.button("Never here").click();
  await page.page.keyboard.type("echo refused-$((1 + 1))\n");
  await page.shows("\nrefused-2\n");
});

test("a session that ends while it opens is shown as ended", async () => {
  const { server, chromium } = stage();
  await using page = await chromium.open(server.url);
  const id = await page.start("sh -c 'read line'");
  const permissions = Promise.withResolvers<void>();
  await page.page.route("**/api/auth/verify", async (route) => {
    await permissions.promise;
    await route.continue();
  });
  await page.page.reload();
  await expect.poll(() => page.page.evaluate("ttyhq.nextOffset")).toBeGreaterThanOrEqual(0);
  await ask(server.url, `/api/sessions/${id}/input`, { method: "POST", body: { text: "\n" } });
  await page.phase("ended");
  permissions.resolve();
  await page.button("Start again").waitFor();
  expect(await page.state()).toMatchObject({ phase: "ended" });
});

test("pasted lines that hold the end of a paste are not run", async () => {
  const { server, chromium } = stage();
  await using page = await chromium.open(server.url);
  await page.startShell();
  await page.paste("echo one\x1b[201~\necho two-$((1 + 1))\n");
  await page.shows("two-$((1 + 1))");
  // When the shell shows the next key it has read the end of the paste: an earlier interrupt drops unread input.
  await page.type("#");
  await page.shows(/\n#/);
  await page.interrupt();
  await page.shows(/\^C\s*ready> /);
  await page.enter("echo do''ne");
  await page.shows("done");
  expect(await page.text()).not.toContain("two-2");
});

test("a browser without storage shows the page", async () => {
  const { server, chromium } = stage();
  await using page = await chromium.open("about:blank");
  await page.page.addInitScript(`for (const name of ["localStorage", "sessionStorage"]) {
    Object.defineProperty(window, name, { get() { throw new DOMException("denied", "SecurityError"); } });
  }`);
  await page.page.goto(server.url);
  await page.startShell();
});

test("where a player or a view does not load, the page goes back to the terminal or the list", async () => {
  const { server, chromium } = stage();
  await using page = await chromium.open(server.url);
  await page.startShell();
  await page.page.route(/\/assets\/(playback|account)-view/, (route) => route.abort());
  await page.page.keyboard.press("Control+Shift+H");
  await page.page.getByText("The player did not load; reload the page").waitFor();
  await page.page.locator(".notice").getByRole("button", { name: "Close" }).click();
  await page.page.keyboard.type("echo back-$((1 + 1))\n");
  await page.shows("\nback-2\n");
  await page.page.evaluate(`location.hash = "#/account"`);
  await page.page.getByText("This view did not load; reload the page").waitFor();
  await page.page.getByRole("heading", { name: "Start a session" }).waitFor();
});

test("in a narrow window the key for the list leads to it", async () => {
  const { server, chromium } = stage();
  await using page = await chromium.open(server.url, { viewport: { width: 700, height: 700 } });
  await page.startShell();
  await page.page.keyboard.press("Control+Shift+L");
  await page.page.getByRole("main").getByRole("navigation", { name: "Sessions" }).waitFor();
});

test("on a phone the branch has room beside the mark of the recording", async () => {
  const { server, chromium } = stage();
  using folder = mkdtempDisposableSync(join(tmpdir(), "ttyhq-head-"));
  execFileSync("git", ["init", "-q", "-b", "feature", folder.path]);
  await using page = await chromium.open(server.url, { viewport: { width: 390, height: 780 } });
  await page.start("bash -c 'seq 30000; sleep 1000'", { cwd: folder.path, name: "build" });
  const head = page.page.locator(".session-head");
  await head.getByText("recording stopped").waitFor();
  await head.locator(".branch-name").waitFor({ state: "attached" });
  const widths = "(({ clientWidth, scrollWidth }) => ({ clientWidth, scrollWidth }))";
  const { clientWidth, scrollWidth } = Widths.parse(
    await page.page.evaluate(`${widths}(document.querySelector(".session-head .branch-name"))`),
  );
  expect(clientWidth).toBeGreaterThan(0);
  expect(scrollWidth).toBeLessThanOrEqual(clientWidth);
});

test("a session that could not be opened is opened as soon as the server lets it", async () => {
  const { server, chromium } = stage();
  await using page = await chromium.open(server.url);
  const id = await page.start("bash -c 'echo here; sleep 1000'");
  const record = `**/api/sessions/${id}`;
  const body = JSON.stringify({ error: "too many requests", code: "rate_limited" });
  await page.page.route(record, (route) => route.fulfill({ status: 429, body }));
  await page.page.reload();
  await page.phase("failed");
  await page.page.getByText("The session could not be opened.").waitFor();
  await page.page.unroute(record);
  await page.shows("here");
  await page.page.getByText("The session could not be opened.").waitFor({ state: "detached" });
});
