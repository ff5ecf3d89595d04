// Worktrees and follow mode in the page, of a repository on a machine of an HQ.
import { access } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { GitRoom } from "../harness/git-repository.ts";
import { TestFleet } from "../harness/test-fleet.ts";
import { Chromium } from "./chromium.ts";
import type { PageDriver } from "./page-driver.ts";

const scope = new AsyncDisposableStack();
let chromium: Chromium;
let room: GitRoom;
let fleet: TestFleet;

beforeAll(async () => {
  chromium = scope.use(await Chromium.ofProcess());
  room = scope.use(await GitRoom.make());
  fleet = scope.use(await TestFleet.start());
});
afterAll(() => scope.disposeAsync());

function row({ page }: PageDriver, branch: string) {
  return page.getByRole("list", { name: "Worktrees" }).getByRole("listitem", { name: branch, exact: true });
}

function dialog({ page }: PageDriver, name: string) {
  return page.getByRole("dialog", { name });
}

test("a branch that is created meanwhile does not change the one chosen to switch to", async () => {
  const repository = await room.repository("switched");
  for (const branch of ["second", "third"]) await room.git(repository, "branch", branch);
  const { id } = await fleet.create("worker-1", { command: ["sleep", "1000"], cwd: repository });
  await using driver = await chromium.open(`${fleet.hq.url}/#/worktrees/${id}`);
  const { page } = driver;
  await row(driver, "main").waitFor();
  await driver.button("Switch branch…").click();
  const question = dialog(driver, "Switch the main worktree");
  await question.getByLabel("Branch").selectOption("third");
  await room.git(repository, "branch", "first");
  const again = page.waitForResponse((response) => response.url().includes("/branches"));
  await room.append(join(repository, "a.txt"), "not committed\n");
  await again;
  await room.git(repository, "checkout", "--quiet", "a.txt");
  await question.getByRole("button", { name: "Switch" }).click();
  await question.waitFor({ state: "detached" });
  expect(await room.git(repository, "branch", "--show-current")).toBe("third");
});

test("a worktree on a machine is created, followed after a dry run, and deleted once it is known what is lost", async () => {
  const repository = await room.repository();
  await room.write(join(repository, ".gitignore"), ".env\n");
  await room.commit(repository);
  const { id } = await fleet.create("worker-1", { command: ["sleep", "1000"], cwd: repository });
  await using driver = await chromium.open(`${fleet.hq.url}/#/s/${id}`);
  const { page } = driver;
  await page.getByRole("link", { name: "Worktrees (main)" }).click();
  await row(driver, "main").getByText("this session").waitFor();

  await driver.button("New worktree…").click();
  await dialog(driver, "New worktree").getByLabel("Branch", { exact: true }).fill("feature/x");
  await driver.button("Create").click();
  const tree = `${repository}-feature-x`;
  await row(driver, "feature/x").getByText(tree).waitFor();

  await using watching = await chromium.open(`${fleet.hq.url}/#/s/${id}`);
  await watching.phase("running");
  // It gets the list after it has asked for events.
  await watching.page.getByRole("navigation").locator("[aria-current=page]").waitFor();
  // A notice disappears after some seconds, so each wait starts before its cause.
  const notice = (text: string) => watching.page.locator(".notice").getByText(text).waitFor();
  const begun = notice("Follow Mode Active");
  await driver.button("Follow feature/x").click();
  const plan = dialog(driver, "Follow feature/x?");
  await plan.getByText("git hook post-commit").waitFor();
  expect(await room.git(repository, "branch", "--show-current")).toBe("main");
  await plan.getByRole("button", { name: "Follow", exact: true }).click();
  await page.getByText("The main worktree follows feature/x").waitFor();
  await row(driver, "feature/x").getByText("followed", { exact: true }).waitFor();
  await begun;
  const failed = notice("Sync Failed");
  await room.append(join(repository, "a.txt"), "in the way\n");
  await room.append(join(tree, "a.txt"), "from the worktree\n");
  const commit = await room.commit(tree);
  const news = page.getByRole("list", { name: "Notifications of follow mode" });
  await news.getByText("Failed to sync").waitFor();
  await failed;
  await room.git(repository, "checkout", "--quiet", "a.txt");
  await expect.poll(() => room.git(repository, "rev-parse", "HEAD")).toBe(commit);

  const stopped = notice("Follow Mode Disabled");
  await driver.button("Stop following…").click();
  const end = dialog(driver, "Stop following?");
  await end.getByText("What would happen").waitFor();
  await end.getByRole("button", { name: "Stop following" }).click();
  await driver.button("Follow feature/x").waitFor();
  await stopped;

  await driver.button("Switch branch…").click();
  await dialog(driver, "Switch the main worktree").getByLabel("Branch").selectOption("main");
  await driver.button("Switch").click();
  await row(driver, "main").waitFor();

  await room.append(join(tree, "a.txt"), "not committed\n");
  await room.write(join(tree, "notes.txt"), "new\n");
  await room.write(join(tree, ".env"), "SECRET=1\n");
  await driver.button("Delete the worktree feature/x").click();
  const question = dialog(driver, "Delete the worktree feature/x?");
  await question.getByText("Uncommitted changes in 1 file are lost.").waitFor();
  for (const file of ["a.txt", "notes.txt", ".env"]) {
    await question.getByRole("list", { name: "Files that are lost" }).getByText(file).waitFor();
  }
  await question.getByText("The branch feature/x stays").waitFor();
  await question.getByRole("button", { name: "Cancel" }).click();
  await access(join(tree, "notes.txt"));
  await driver.button("Delete the worktree feature/x").click();
  await question.getByRole("button", { name: "Delete", exact: true }).click();
  await row(driver, "feature/x").waitFor({ state: "detached" });
  await expect(access(tree)).rejects.toThrow("ENOENT");
  expect(await room.git(repository, "rev-parse", "feature/x")).toBe(commit);
});
