// axe-core's findings in every view of the page, and the contrast of colours in the terminal.
import { readFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { join } from "node:path";
import { expect, test } from "vitest";
import { z } from "zod";
import { withDeadline } from "../../../src/lib/async/deadline.ts";
import { PALETTE_NAMES } from "../../../src/web/terminal/emulator/palette.ts";
import { GitRoom } from "../harness/git-repository.ts";
import { PATIENCE_MS } from "../harness/patience.ts";
import { TestFleet } from "../harness/test-fleet.ts";
import { Chromium } from "./chromium.ts";
import type { PageDriver } from "./page-driver.ts";
import { useStage } from "./stage.ts";

const ACCOUNT = { SERVICE_USERNAME: "ada", SERVICE_PASSWORD: "correct horse" };
const stage = useStage({ env: ACCOUNT, flags: [] });
const AXE = createRequire(import.meta.url).resolve("axe-core/axe.min.js");
const MIN_CONTRAST = 4.5;
const Contrasts = z.array(z.tuple([z.string(), z.number()]));
const Findings = z.array(z.object({ id: z.string(), targets: z.array(z.string()) }));

/** All rules in dark colours; in light ones only those about colours, since the rest of the page is the same. */
async function findings(driver: PageDriver, view: string): Promise<readonly string[]> {
  const { page } = driver;
  if (!(await page.evaluate("'axe' in globalThis"))) await page.evaluate(await readFile(AXE, "utf8"));
  const dark = await violations(driver, `${view}, dark`, {});
  await page.emulateMedia({ colorScheme: "light" });
  const light = await violations(driver, `${view}, light`, {
    runOnly: ["color-contrast", "link-in-text-block"],
  });
  await page.emulateMedia({ colorScheme: "dark" });
  return [...dark, ...light];
}

async function violations(
  { page }: PageDriver,
  view: string,
  options: { readonly runOnly?: readonly string[] },
): Promise<readonly string[]> {
  // During a fade-in everything is pale. Endless progress animations do not count.
  const drawn = page.evaluate(`Promise.all(document.getAnimations()
    .filter(({ effect }) => effect.getComputedTiming().iterations !== Infinity)
    .map(({ finished }) => finished.catch(() => {})))`);
  await withDeadline(drawn, PATIENCE_MS, `the end of the animations in ${view}`);
  const wanted = JSON.stringify({ ...options, resultTypes: ["violations"] });
  const checked = page.evaluate(`axe.run(${wanted}).then(({ violations }) => violations.map(({ id, nodes }) =>
    ({ id, targets: nodes.map(({ target, failureSummary }) => target.join(" ") + " " + failureSummary) })))`);
  const found = await withDeadline(checked, PATIENCE_MS, `what axe-core finds in ${view}`);
  return Findings.parse(found).map(({ id, targets }) => `${view}: ${id}: ${targets.join("; ")}`);
}

async function logIn(page: PageDriver): Promise<void> {
  await page.page.getByLabel("Password").fill(ACCOUNT.SERVICE_PASSWORD);
  await page.button("Log in").click();
  await page.connection("open");
}

/** For a repository with one more worktree. */
async function worktreeFindings(driver: PageDriver): Promise<readonly string[]> {
  await using room = await GitRoom.make();
  const repository = await room.repository();
  await room.append(join(await room.worktree(repository, "feature"), "a.txt"), "more\n");
  await driver.start("sleep 1000", { cwd: repository });
  const { page } = driver;
  await page.getByRole("link", { name: "Worktrees (main)" }).click();
  await driver.button("Delete the worktree feature").waitFor();
  const found = [...(await findings(driver, "worktrees"))];
  await driver.button("Delete the worktree feature").click();
  await page.getByText("The branch feature stays").waitFor();
  found.push(...(await findings(driver, "what is lost with a worktree")));
  await driver.button("Cancel").click();
  await driver.button("Follow feature").click();
  await page.getByText("What would happen").waitFor();
  found.push(...(await findings(driver, "dry run of follow mode")));
  await driver.button("Cancel").click();
  return found;
}

test("axe-core finds nothing in any view, in either colours", async () => {
  const { server, chromium } = stage();
  await using page = await chromium.open(server.url, { viewport: { width: 1400, height: 900 } });
  await page.page.getByLabel("Password").waitFor();
  const found = [...(await findings(page, "login"))];
  await logIn(page);
  await page.page.getByRole("heading", { name: "Start a session" }).waitFor();
  found.push(...(await findings(page, "new session")));
  found.push(...(await worktreeFindings(page)));
  await page.startShell();
  found.push(...(await findings(page, "session")));
  await page.page.evaluate(`Promise.all(Array.from({ length: 7 }, () => fetch("/api/sessions", {
      method: "POST",
      headers: {
        "content-type": "application/json",
        authorization: "Bearer " + JSON.parse(localStorage["ttyhq.login"]).token,
      },
      body: JSON.stringify({ command: ["true"] }),
    })))`);
  await page.page.getByRole("link", { name: "Previews" }).click();
  await page.page.getByRole("region", { name: "Previews" }).locator("canvas.drawn").first().waitFor();
  found.push(...(await findings(page, "previews")));
  await page.page.goBack();
  await page.phase("running");
  await page.page.getByLabel("Filter sessions").fill("shell");
  found.push(...(await findings(page, "filtered list")));
  await page.page.getByLabel("Filter sessions").fill("");
  await page.page.keyboard.press("Control+Shift+K");
  await page.page.getByRole("combobox", { name: "Find a session" }).waitFor();
  found.push(...(await findings(page, "switcher")));
  await page.page.keyboard.press("Escape");
  await page.button("Settings").click();
  await page.page.getByRole("dialog", { name: "Settings" }).waitFor();
  found.push(...(await findings(page, "settings")));
  await page.button("Close").click();
  await page.button("More").click();
  await page.button("Download a file…").click();
  await page.page.getByRole("dialog", { name: "Download a file" }).waitFor();
  found.push(...(await findings(page, "download")));
  await page.button("Close").click();
  await page.enter(String.raw`printf '\e]52;c;aGVsbG8=\a'`);
  await page.button("Never here").waitFor();
  found.push(...(await findings(page, "clipboard")));
  await page.button("Never here").click();
  await page.button("More").click();
  found.push(...(await findings(page, "menu")));
  await page.button("Share…").click();
  await page.button("Create a link").click();
  await page.page.getByRole("textbox", { name: "The link" }).waitFor();
  found.push(...(await findings(page, "share")));
  await page.button("Close").click();
  await page.page.getByRole("link", { name: "Logins and links" }).click();
  await page.button("Revoke the link to shell").first().waitFor();
  await page.page.getByLabel("Of all users").check();
  await page.page.getByRole("list", { name: "Logins" }).getByText("ada: ").first().waitFor();
  found.push(...(await findings(page, "account")));
  await page.page.getByRole("link", { name: "Usage and limits" }).click();
  await page.page.getByRole("rowheader", { name: "ada" }).waitFor();
  found.push(...(await findings(page, "usage")));
  await page.page.getByRole("link", { name: "Audit log" }).click();
  await page.page.getByRole("cell", { name: "share.create" }).first().waitFor();
  found.push(...(await findings(page, "audit log")));
  for (let back = 0; back < 3; back += 1) await page.page.goBack();
  await page.phase("running");
  await page.page.keyboard.press("Control+Shift+F");
  found.push(...(await findings(page, "search")));
  await page.page.keyboard.press("Escape");
  await page.enter("exit 3");
  await page.phase("ended");
  found.push(...(await findings(page, "ended")));
  await page.button("Play").click();
  await page.page.getByRole("slider", { name: "Position" }).waitFor();
  found.push(...(await findings(page, "playback")));
  await page.page.getByRole("link", { name: "Close" }).click();
  const layout = await page.page.evaluate("location.hash.replace('/s/', '/l/+,gone|*')");
  await page.page.goto(`${server.url}/${layout}/+?tab=2`);
  await page.page.getByText("Session not found").waitFor();
  found.push(...(await findings(page, "panes")));
  await page.page.goBack();
  await page.phase("ended");
  await page.page.setViewportSize({ width: 390, height: 844 });
  found.push(...(await findings(page, "phone")));
  await page.page.goto(`${server.url}/#/`);
  await page.page.getByRole("navigation").waitFor();
  found.push(...(await findings(page, "list on a phone")));
  expect(found).toEqual([]);
});

test("axe-core finds nothing in the machines of an HQ, in either colours", async () => {
  await using fleet = await TestFleet.start();
  await fleet.create("worker-1", { command: ["sleep", "1000"] });
  await using driver = await stage().chromium.open(`${fleet.hq.url}/#/machines`);
  const { page } = driver;
  const machines = page.getByRole("list", { name: "Machines" });
  await machines.getByText("1 running").waitFor();
  const found = [...(await findings(driver, "machines"))];
  await driver.button("Add a machine…").click();
  await page.getByLabel("Name", { exact: true }).fill("new-machine");
  found.push(...(await findings(driver, "new join token")));
  await driver.button("Create a token").click();
  await page.getByRole("dialog").locator("pre").waitFor();
  found.push(...(await findings(driver, "join command")));
  await driver.button("Close").click();
  await page.getByRole("list", { name: "Join tokens" }).getByText("new-machine").waitFor();
  await driver.button("Cordon worker-1").click();
  await machines.getByText("cordoned", { exact: true }).waitFor();
  found.push(...(await findings(driver, "cordoned machine")));
  await page.setViewportSize({ width: 390, height: 844 });
  found.push(...(await findings(driver, "machines on a phone")));
  expect(found).toEqual([]);
});

test("every colour of the palette can be read on the ground of the terminal, in every theme", async () => {
  await using chromium = await Chromium.start({ args: ["--disable-3d-apis"] });
  await using page = await chromium.open(stage().server.url);
  await logIn(page);
  await page.startShell();
  await page.enter(
    String.raw`for i in {0..15}; do printf "\e[38;5;${"$"}{i}mcolour-$i-\e[0m\n"; done; echo en''d`,
  );
  await page.shows("\nend\n");
  await page.settled();
  await page.button("Settings").click();
  for (const name of PALETTE_NAMES) {
    await page.page.getByLabel("Theme").selectOption(name);
    const contrasts = async () =>
      Contrasts.parse(
        await page.page.evaluate(`(() => {
        const light = (color) => color.match(/[\\d.]+/g).slice(0, 3).map((part) => part / 255)
          .map((part) => part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4)
          .reduce((sum, part, index) => sum + part * [0.2126, 0.7152, 0.0722][index], 0);
        const ground = light(getComputedStyle(document.querySelector(".terminal-frame")).backgroundColor);
        return [...document.querySelectorAll(".xterm-rows span")]
          .filter(({ textContent }) => /^colour-\\d+-$/.test(textContent))
          .map((span) => [span.textContent, light(getComputedStyle(span).color)])
          .map(([name, own]) => [name, (Math.max(own, ground) + 0.05) / (Math.min(own, ground) + 0.05)]);
      })()`),
      );
    // Drawn with the next frame.
    const faint = async () => [name, (await contrasts()).filter(([, contrast]) => contrast < MIN_CONTRAST)];
    await expect.poll(async () => (await contrasts()).length).toBe(16);
    await expect.poll(faint).toEqual([name, []]);
  }
});
