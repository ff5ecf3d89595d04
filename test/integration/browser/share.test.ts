// Links to one session: created, followed by a guest, revoked.
import { expect, test } from "vitest";
import type { PageDriver } from "./page-driver.ts";
import { startPageServer } from "./page-server.ts";
import { ACCOUNT, openOwner } from "./session-owner.ts";
import { useStage } from "./stage.ts";

const stage = useStage({ env: ACCOUNT, flags: [] });

async function openDialog(owner: PageDriver): Promise<void> {
  await owner.button("More").click();
  await owner.button("Share…").click();
  await owner.page.getByRole("dialog").waitFor();
}

/** The link; the dialog stays open. */
async function share(owner: PageDriver, what: "View only" | "Can type"): Promise<string> {
  if (!(await owner.page.getByRole("dialog").isVisible())) await openDialog(owner);
  const field = owner.page.getByRole("textbox", { name: "The link" });
  const before = (await field.isVisible()) ? await field.inputValue() : "";
  await owner.page.getByLabel(what).check();
  await owner.button("Create a link").click();
  await expect.poll(() => field.inputValue()).not.toBe(before);
  return await field.inputValue();
}

async function closeDialog(owner: PageDriver): Promise<void> {
  await owner.button("Close").click();
  await owner.page.getByRole("dialog").waitFor({ state: "detached" });
}

test("closing the dialog gives the terminal the focus, and does not take it from what is opened right after", async () => {
  await using owner = await openOwner(stage());
  await openDialog(owner);
  await closeDialog(owner);
  await owner.page.keyboard.type("echo closed-$((1 + 1))\n");
  await owner.shows("\nclosed-2\n");
  await openDialog(owner);
  // In one task, like two keys in quick succession in a busy browser.
  await owner.page.evaluate(`{
    document.querySelector("dialog [aria-label=Close]").click();
    const keys = { key: "F", code: "KeyF", ctrlKey: true, shiftKey: true };
    window.dispatchEvent(new KeyboardEvent("keydown", { ...keys, cancelable: true }));
  }`);
  await owner.page.getByRole("dialog").waitFor({ state: "detached" });
  await owner.page.keyboard.type("sought");
  await expect.poll(() => owner.page.getByLabel("Search the terminal").inputValue()).toBe("sought");
});

test("a guest who may watch sees everything, types nothing and finds nothing else", async () => {
  const { server, chromium } = stage();
  await using owner = await openOwner(stage());
  await owner.enter("echo before-$((1 + 1))");
  await owner.shows("\nbefore-2\n");
  const link = await share(owner, "View only");
  await owner.page.getByText("This link works on this machine only.").waitFor();
  await closeDialog(owner);
  await using guest = await chromium.open(link, { viewport: { width: 700, height: 500 } });
  await guest.shows("\nbefore-2\n");
  await guest.phase("watching");
  await guest.page.getByText("shared with you to watch").waitFor();
  expect(guest.page.url()).toMatch(/\/#\/s\/[\w-]+$/);
  const size = await guest.size();
  await guest.type("typed by a guest");
  await guest.page.setViewportSize({ width: 800, height: 600 });
  await owner.enter("echo after-$((2 + 2))");
  await guest.shows("\nafter-4\n");
  expect(await guest.text()).not.toContain("typed by a guest");
  expect(await guest.size()).toEqual(size);
  for (const name of ["New session", "Log out", "End", "Share…", "Log in"]) {
    expect([name, await guest.page.getByText(name, { exact: true }).count()]).toEqual([name, 0]);
  }
  expect(await guest.page.getByTitle(/rename/).count()).toBe(0);
  await guest.button("More").click();
  expect(await guest.page.getByText(/SIG|Share/).count()).toBe(0);
  // Keys of views that guests do not have.
  expect(await guest.page.locator(".menu-hint").textContent()).toMatch(
    /^Ctrl Shift \+ C copies, V pastes, F searches\.$/,
  );
  await guest.page.keyboard.press("Escape");
  const own = String(await guest.page.evaluate("location.hash"));
  await guest.page.evaluate("location.hash = location.hash.replace('/s/', '/l/other|')");
  await expect.poll(() => guest.page.evaluate("location.hash")).toBe(own);
  expect(await guest.page.locator(".session").count()).toBe(1);
  // The link belongs to this tab: a reload keeps it, another tab does not have it.
  await guest.page.reload();
  await guest.shows("\nafter-4\n");
  expect(await guest.page.evaluate("localStorage.getItem('ttyhq.login')")).toBe(null);
  const tab = await guest.another(server.url);
  await tab.page.getByLabel("Password").waitFor();
});

test("a guest of a link for new output sees the current screen and new output, and nothing earlier", async () => {
  const { chromium } = stage();
  await using owner = await openOwner(stage());
  await owner.enter("echo before-$((1 + 1)); clear; echo still-$((1 + 2))");
  await owner.shows("still-3\n");
  await openDialog(owner);
  await owner.page.getByLabel("New output only").check();
  const link = await share(owner, "View only");
  await owner.page.getByText("to watch, without what was before").waitFor();
  await closeDialog(owner);
  await using guest = await chromium.open(link);
  await guest.shows("still-3\n");
  await owner.enter("echo after-$((2 + 2))");
  await guest.shows("\nafter-4\n");
  expect(await guest.text()).not.toContain("before");
});

test("a guest who may type types, in the size of the owner's window until it is changed", async () => {
  const { chromium } = stage();
  await using owner = await openOwner(stage());
  await openDialog(owner);
  await owner.page.getByLabel("Can type").check();
  await owner.page.getByLabel("May also resize the terminal").check();
  const link = await share(owner, "Can type");
  await owner.page.getByText("to type and resize").waitFor();
  await closeDialog(owner);
  await using guest = await chromium.open(link, { viewport: { width: 700, height: 500 } });
  await guest.page.getByText("shared with you to type").waitFor();
  await guest.phase("running");
  const before = await owner.size();
  await guest.sizeBecomes(before);
  await guest.enter("echo guest-$((3 + 3))");
  await owner.shows("\nguest-6\n");
  await guest.page.getByText("Fit to my window").click();
  await expect.poll(() => guest.size()).not.toEqual(before);
  await owner.sizeBecomes(await guest.size());
});

test("a link that works on this machine only says so, and one of a public URL leads there", async () => {
  const caution = "This link works on this machine only";
  await using owner = await openOwner(stage());
  const own = await share(owner, "View only");
  expect(own.startsWith(`${stage().server.url}/#share=`)).toBe(true);
  expect(own.length).toBeLessThan(100);
  await owner.page.getByText(caution).waitFor();

  const flags = ["--public-url", "https://term.example.com"];
  await using server = await startPageServer({ env: ACCOUNT, flags });
  await using behindProxy = await openOwner({ ...stage(), server });
  expect(await share(behindProxy, "View only")).toMatch(/^https:\/\/term\.example\.com\/#share=/);
  expect(await behindProxy.page.getByText(caution).count()).toBe(0);
});

test("a revoked link throws its guests out and opens nothing, others go on", async () => {
  const { chromium } = stage();
  await using owner = await openOwner(stage());
  const revoked = await share(owner, "View only");
  await using guest = await chromium.open(revoked);
  await guest.phase("watching");
  const kept = await share(owner, "Can type");
  const links = owner.page.getByRole("region", { name: "Links" }).getByRole("listitem");
  await expect.poll(() => links.count()).toBe(2);
  await closeDialog(owner);
  await openDialog(owner);
  await links
    .filter({ hasText: "to watch" })
    .getByText(/min left|1 h left/)
    .waitFor();
  await links.filter({ hasText: "to watch" }).getByRole("button", { name: "Revoke" }).click();
  await links.filter({ hasText: "to watch" }).waitFor({ state: "detached" });
  await guest.page.getByText("This link opens nothing any more").waitFor();
  await guest.page.reload();
  await guest.page.getByLabel("Password").waitFor();
  await using late = await chromium.open(revoked);
  await late.page.getByText("This link opens nothing any more").waitFor();
  await late.button("Log in").click();
  await late.page.getByLabel("Password").waitFor();
  await using other = await chromium.open(kept);
  await other.phase("running");
});

test("a link that is made while the list of links is still on its way stays in it", async () => {
  await using owner = await openOwner(stage());
  const made = Promise.withResolvers<void>();
  await owner.page.route("**/shares", async (route) => {
    const response = await route.fetch();
    await made.promise;
    await route.fulfill({ response });
  });
  const listed = owner.page.waitForResponse("**/shares");
  await openDialog(owner);
  await share(owner, "View only");
  made.resolve();
  await listed;
  await share(owner, "Can type");
  const links = owner.page.getByRole("region", { name: "Links" }).getByRole("listitem");
  await expect.poll(() => links.count()).toBe(2);
});

test("a link that could not be revoked is still there to be copied, one that was revoked is not", async () => {
  await using owner = await openOwner(stage());
  const link = await share(owner, "View only");
  const field = owner.page.getByRole("textbox", { name: "The link" });
  await owner.page.route("**/shares/*", (route) => route.abort());
  await owner.button("Revoke").click();
  await owner.page.getByText("No answer from the server.").waitFor();
  expect(await field.inputValue()).toBe(link);
  await owner.page.unroute("**/shares/*");
  await owner.button("Revoke").click();
  await field.waitFor({ state: "detached" });
});

test("a logged-in user who follows a link is a guest only in that tab", async () => {
  const { server } = stage();
  await using owner = await openOwner(stage());
  const link = await share(owner, "View only");
  await closeDialog(owner);
  // Also in a tab that already shows the page.
  const tab = await owner.another(server.url);
  await tab.connection("open");
  await tab.page.goto(link);
  await tab.page.getByText("shared with you to watch").waitFor();
  await owner.enter("echo mine-$((4 + 4))");
  await tab.shows("\nmine-8\n");
  await owner.button("Log out").click();
  await owner.page.getByText("You are logged out.").waitFor();
  await tab.phase("watching");
});

test("a removed session is invisible to its guests", async () => {
  const { chromium } = stage();
  await using owner = await openOwner(stage());
  const link = await share(owner, "Can type");
  await closeDialog(owner);
  await using guest = await chromium.open(link);
  await guest.phase("running");
  await guest.enter("exit 3");
  await guest.page.getByText("Ended with code 3").waitFor();
  expect(await guest.button("Start again").count()).toBe(0);
  await owner.button("Remove").click();
  await owner.page.getByRole("dialog").getByRole("button", { name: "Remove" }).click();
  await guest.page.getByText(/This link opens nothing any more|Session not found/).waitFor();
});
