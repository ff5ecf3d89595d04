// Browser notifications of sessions that are not visible, and the page as an installed app.
import { expect, test } from "vitest";
import { z } from "zod";
import { Chromium } from "./chromium.ts";
import type { PageDriver } from "./page-driver.ts";
import { createSession } from "./page-server.ts";
import { useStage } from "./stage.ts";

const stage = useStage({}, () => Chromium.start({ isWhole: true }));
const Shown = z.array(z.object({ title: z.string(), body: z.string(), tag: z.string() }));
const Manifest = z.object({ url: z.string(), errors: z.array(z.unknown()), data: z.string() });
const Errors = z.object({ installabilityErrors: z.array(z.object({ errorId: z.string() })) });

/** Records shown notifications, to inspect and click them. */
const KEEP = `{
  const shown = [];
  const Real = window.Notification;
  window.Notification = class extends Real {
    constructor(title, options) {
      super(title, options);
      shown.push(this);
    }
  };
  window.shownNotifications = shown;
}`;

async function open(permissions: readonly string[]): Promise<PageDriver> {
  const { server, chromium } = stage();
  const page = await chromium.open(`${server.url}/`, { permissions: [...permissions] });
  await page.page.addInitScript(KEEP);
  await page.page.reload();
  await page.connection("open");
  return page;
}

async function shown({ page }: PageDriver) {
  return Shown.parse(
    await page.evaluate("shownNotifications.map(({ title, body, tag }) => ({ title, body, tag }))"),
  );
}

async function switchOn(page: PageDriver, ...names: readonly string[]): Promise<void> {
  await page.button("Settings").click();
  for (const name of names) await page.page.getByRole("checkbox", { name }).click();
}

test("events of a hidden session cause a notification, and a click opens the session", async () => {
  const { server } = stage();
  await using page = await open(["notifications"]);
  await switchOn(page, "The bell rang", "Its program ended", "It waits for input");
  await expect.poll(async () => (await shown(page)).length).toBe(3);
  await page.button("Close").click();
  const ring = ["sh", "-c", "read x; printf '\\a'; read x"];
  const seen = await createSession(server, ring, "seen");
  const other = await createSession(
    server,
    ["sh", "-c", "read x; printf '\\033]777;notify;Build;a\\342\\200\\256b\\007'; exit 3"],
    "other",
  );
  const of = async (id: string) => (await shown(page)).filter(({ tag }) => tag === `ttyhq-${id}`);
  await page.page.goto(`${server.url}/#/l/${other}|*${seen}`);
  await page.phase("running");
  await page.page.keyboard.press("Enter");
  await expect.poll(() => page.page.locator(".bell-flash").count()).toBe(1);
  // The event of the bell may come after the output: this one comes after both.
  await createSession(server, ["cat"], "after the bell");
  await page.page.getByRole("navigation").getByText("after the bell").waitFor();
  // A hidden tab shows no session.
  await page.page.keyboard.press("Control+Shift+ArrowLeft");
  await page.page.evaluate(`{
    Object.defineProperty(document, "visibilityState", { value: "hidden" });
    document.dispatchEvent(new Event("visibilitychange"));
  }`);
  await page.page.keyboard.press("Enter");
  // The exit replaces the program's notification, if that came first.
  await expect
    .poll(async () => (await of(other)).at(-1))
    .toEqual({ title: "other", body: "Ended with code 3.", tag: `ttyhq-${other}` });
  expect(await of(seen)).toEqual([]);
  await page.page.evaluate(`location.hash = "#/"`);
  await page.page.evaluate("shownNotifications.at(-1).onclick()");
  await page.phase("ended");
  // The same way as the tests of VibeTunnel's clients.
  await page.page.evaluate(`fetch("/api/test-notification", { method: "POST" })`);
  await expect
    .poll(async () => (await shown(page)).at(-1))
    .toEqual({ title: "Test notification", body: "Notifications arrive here", tag: "ttyhq-test" });
});

test("where the browser blocks notifications, the switch stays off and says why", async () => {
  await using page = await open([]);
  await switchOn(page, "Its program ended");
  await page.page.getByText("Notifications are blocked for this page.").waitFor();
  expect(await page.page.getByRole("checkbox", { name: "Its program ended" }).isChecked()).toBe(false);
});

test("Chromium finds a manifest with icons, without a login, and nothing that prevents installing the page", async () => {
  await using page = await open([]);
  const devtools = await page.page.context().newCDPSession(page.page);
  const manifest = Manifest.parse(await devtools.send("Page.getAppManifest"));
  expect(manifest.errors).toEqual([]);
  const { icons, display } = JSON.parse(manifest.data);
  expect(display).toBe("standalone");
  for (const { src, type } of icons) {
    const answer = await fetch(new URL(src, manifest.url));
    expect([src, answer.status, answer.headers.get("content-type")]).toEqual([src, 200, type]);
  }
  const { installabilityErrors } = Errors.parse(await devtools.send("Page.getInstallabilityErrors"));
  // Each page of these tests has a profile of its own, like a private window.
  expect(installabilityErrors.filter(({ errorId }) => errorId !== "in-incognito")).toEqual([]);
});
