// Takes the pictures of docs/images: `npm run build && node scripts/screenshots.ts`. Needs Chromium, as the tests of
// the page do.
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { Chromium } from "../test/integration/browser/chromium.ts";
import type { PageDriver } from "../test/integration/browser/page-driver.ts";
import { startPageServer } from "../test/integration/browser/page-server.ts";
import { GitRoom } from "../test/integration/harness/git-repository.ts";
import { ask } from "../test/integration/harness/http.ts";
import { TestFleet } from "../test/integration/harness/test-fleet.ts";
import type { TestServer } from "../test/integration/harness/test-server.ts";
import { withPalette } from "./png-palette.ts";

const FOLDER = join(import.meta.dirname, "../docs/images");
const DESKTOP = { width: 1100, height: 640 };
const PHONE = { width: 390, height: 780 };
const ACCOUNT = { SERVICE_USERNAME: "ada", SERVICE_PASSWORD: "correct horse" };
const TESTS = String.raw`for i in 1 2 3 4 5 6 7 8; do printf '\033[32m✓\033[0m test %s \033[2m(%s ms)\033[0m\n' $i $((i * 13)); sleep 0.4; done; printf '\n\033[1m8 passed\033[0m\n'; cat`;

async function shoot({ page }: PageDriver, name: string): Promise<void> {
  const png = await page.screenshot({ animations: "disabled" });
  await writeFile(join(FOLDER, `${name}.png`), withPalette(png));
}

async function logIn(driver: PageDriver): Promise<void> {
  await driver.page.getByLabel("Password").fill(ACCOUNT.SERVICE_PASSWORD);
  await driver.button("Log in").click();
  await driver.connection("open");
}

/** A repository with a worktree that has uncommitted files. */
async function repositoryIn(room: GitRoom): Promise<string> {
  const repository = await room.repository("app");
  const tree = await room.worktree(repository, "feature");
  await room.commit(tree, "Add a feature");
  await room.append(join(tree, "a.txt"), "more\n");
  await room.write(join(tree, "notes.txt"), "new\n");
  return repository;
}

/** Starts a few sessions; returns the id of the one to show. */
async function startSessions({ url }: TestServer, repository: string): Promise<string> {
  const { json } = await ask(url, "/api/auth/token", { body: { password: ACCOUNT.SERVICE_PASSWORD } });
  const headers = { authorization: `Bearer ${json.token}` };
  const start = async (name: string, title: string, line: string, cwd = "/tmp"): Promise<string> => {
    const titled = `printf '\\033]0;${title}\\a'; ${line}`;
    const body = { command: ["sh", "-c", titled], name, cwd, cols: 100, rows: 30 };
    return (await ask(url, "/api/sessions", { headers, body })).json.id;
  };
  await start("migration", "migrate.sh", "seq 1 40; exit 1");
  await start("dev server", "vite", "echo listening on http://localhost:5173; cat");
  await start("clock", "date", "while :; do date +%T; sleep 1; done");
  return await start("tests", "npm test", TESTS, repository);
}

async function shootViews(driver: PageDriver, url: string): Promise<void> {
  const { page } = driver;
  const worktrees = page.getByRole("link", { name: "Worktrees (main)" });
  await worktrees.waitFor();
  await shoot(driver, "session-dark");
  await driver.button("More").click();
  await driver.button("Share…").click();
  await driver.button("Create a link").click();
  await page.getByRole("textbox", { name: "The link" }).waitFor();
  await shoot(driver, "share");
  await driver.button("Close").click();
  await worktrees.click();
  await driver.button("Delete the worktree feature").click();
  await page.getByText("The branch feature stays").waitFor();
  await shoot(driver, "worktrees");
  await driver.button("Cancel").click();
  await page.getByRole("link", { name: "Previews" }).click();
  await page.locator("canvas.drawn").nth(3).waitFor();
  await shoot(driver, "previews");
  await driver.button("Settings").click();
  await page.getByRole("dialog", { name: "Settings" }).waitFor();
  await shoot(driver, "settings");
  await driver.button("Close").click();
  await page.getByRole("link", { name: "Audit log" }).click();
  await page.getByRole("cell", { name: "session.create" }).first().waitFor();
  await shoot(driver, "audit");
  await page.goto(`${url}?t=2`);
  await page.getByText(/^0:0[23] \/ /).waitFor();
  await shoot(driver, "playback");
}

async function shootAccount(driver: PageDriver, url: string): Promise<void> {
  const { page } = driver;
  await page.goto(new URL("/#/account", url).href);
  await page.getByText("this one").waitFor();
  await shoot(driver, "account");
  await page.goto(new URL("/#/usage", url).href);
  await page.getByRole("rowheader", { name: "ada" }).waitFor();
  await shoot(driver, "usage");
  await page.goto(new URL("/#/new", url).href);
  await page.getByLabel("Command").fill("npm test -- --watch");
  await shoot(driver, "new-session");
}

async function shootPanes(driver: PageDriver, url: string): Promise<void> {
  const { page } = driver;
  await page.goto(url);
  await driver.shows("8 passed");
  await page.keyboard.press("Control+Shift+E");
  await page.keyboard.type("clock");
  await page.locator("[role=option][aria-selected=true]", { hasText: "clock" }).waitFor();
  await page.keyboard.press("Enter");
  await driver.shows(/\d\d:\d\d:\d\d/);
  await shoot(driver, "side-by-side");
}

async function ofServer(chromium: Chromium): Promise<void> {
  await using room = await GitRoom.make();
  const repository = await repositoryIn(room);
  await using server = await startPageServer({ env: ACCOUNT, flags: [] });
  const url = `${server.url}/#/s/${await startSessions(server, repository)}`;
  await using driver = await chromium.open(url, { viewport: DESKTOP });
  await driver.button("Log in").waitFor();
  await shoot(driver, "login");
  await logIn(driver);
  await driver.shows("8 passed");
  await shootViews(driver, url);
  await shootAccount(driver, url);
  await shootPanes(driver, url);
  await driver.page.emulateMedia({ colorScheme: "light" });
  await driver.page.goto(url);
  await driver.shows("8 passed");
  await shoot(driver, "session-light");
  await using phone = await chromium.open(url, { viewport: PHONE, hasTouch: true, isMobile: true });
  await logIn(phone);
  await phone.shows("8 passed");
  await phone.page.getByRole("button", { name: /Fit to my window/ }).click();
  await phone.page.getByText("Fit to my window").waitFor({ state: "detached" });
  await phone.settled();
  await shoot(phone, "phone");
}

async function ofFleet(chromium: Chromium): Promise<void> {
  await using fleet = await TestFleet.start({ remotes: 0, hqArgs: ["--hq-sessions"] });
  for (const [name, label] of [
    ["build-1", "gpu=true"],
    ["build-2", "gpu=true"],
    ["web", "zone=eu"],
  ] as const) {
    await fleet.add(name, { args: ["--machine-label", label] });
    await fleet.joined(name);
    await fleet.create(name, { command: ["sleep", "1000"], name: `job on ${name}` });
  }
  await using driver = await chromium.open(`${fleet.hq.url}/#/machines`, { viewport: DESKTOP });
  await driver.button("Cordon build-2").click();
  await driver.button("Uncordon build-2").waitFor();
  await shoot(driver, "machines");
}

await mkdir(FOLDER, { recursive: true });
await using chromium = await Chromium.start();
await ofServer(chromium);
await ofFleet(chromium);
