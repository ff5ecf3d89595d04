// Another user logs in at the same browser.
import { afterAll, beforeAll, expect, test } from "vitest";
import { knownToken } from "../harness/known-logins.ts";
import { People, Person } from "../harness/people.ts";
import type { TestServer } from "../harness/test-server.ts";
import { Chromium } from "./chromium.ts";
import type { PageDriver } from "./page-driver.ts";

/** Unlike all other waits of the page, and short enough for it to wait. */
const WAIT_MS = 57_000;
const scope = new AsyncDisposableStack();
let people: People;
let server: TestServer;
let chromium: Chromium;

beforeAll(async () => {
  people = scope.use(await People.make());
  server = scope.use(await people.server());
  chromium = scope.use(await Chromium.ofProcess());
});
afterAll(() => scope.disposeAsync());

function stored(user: string): string {
  return JSON.stringify({ token: knownToken(user), user, expiresAt: Date.now() + 3_600_000 });
}

function openAs(user: string, path = ""): Promise<PageDriver> {
  const localStorage = [{ name: "ttyhq.login", value: stored(user) }];
  return chromium.open(`${server.url}/${path}`, {
    storageState: { cookies: [], origins: [{ origin: server.url, localStorage }] },
  });
}

/** As a login in this tab, which the others notice. */
async function logIn({ page }: PageDriver, user: string): Promise<void> {
  await page.evaluate(`localStorage.setItem("ttyhq.login", ${JSON.stringify(stored(user))})`);
}

test("a login as another user in another tab closes the first user's sessions in this one", async () => {
  const one = Person.named(server, people.one);
  const { id } = await one.start({ command: ["sh", "-c", "echo private; cat"], cwd: "/", name: "of one" });
  await using page = await openAs(people.one, `#/s/${id}`);
  await page.shows("private");
  const list = page.page.getByRole("navigation");
  await list.getByText("of one").waitFor();
  const tab = await page.another(`${server.url}/`);
  await logIn(tab, people.other);
  await page.page.locator(".sidebar-user", { hasText: people.other }).waitFor();
  await list.getByText("No sessions").waitFor();
  await page.connection("open");
  expect(await page.text()).not.toContain("private");
});

test("a new token of the same user in another tab closes nothing", async () => {
  const one = Person.named(server, people.one);
  const { id } = await one.start({ command: ["sh", "-c", "echo mine; cat"], cwd: "/", name: "kept" });
  await using page = await openAs(people.one, `#/s/${id}`);
  await page.shows("mine");
  await page.page.evaluate(`window.screen0 = document.querySelector(".xterm-screen")`);
  const noticed = page.page.evaluate(`new Promise((done) => addEventListener("storage", done))`);
  const tab = await page.another(`${server.url}/`);
  await logIn(tab, people.one);
  await noticed;
  await page.enter("typed");
  await page.shows("typed\ntyped\n");
  expect(await page.page.evaluate(`document.querySelector(".xterm-screen") === window.screen0`)).toBe(true);
});

test("an action on many sessions ends with the login", async () => {
  const one = Person.named(server, people.one);
  for (let count = 1; count <= 6; count += 1) {
    await one.start({ command: ["cat"], cwd: "/", name: `bulk ${count}` });
  }
  await using page = await openAs(people.one);
  await page.connection("open");
  let sent = 0;
  await page.page.route("**/api/sessions/*", async (route) => {
    if (route.request().method() !== "DELETE") return await route.continue();
    sent += 1;
    const details = { retryAfterSeconds: WAIT_MS / 1000 };
    await route.fulfill({ status: 429, json: { error: "too many requests", code: "rate_limited", details } });
  });
  // The test itself ends these waits.
  await page.page.evaluate(`{
    const { setTimeout } = window;
    window.waits = [];
    window.setTimeout = (act, ms) => (ms === ${WAIT_MS} ? waits.push(act) : setTimeout(act, ms));
  }`);
  await page.page.getByLabel("Filter sessions").fill("bulk");
  await page.button("End 6 sessions").click();
  await page.page.getByRole("dialog").getByRole("button", { name: "End" }).click();
  await expect.poll(() => page.page.evaluate("waits.length")).toBe(6);
  await page.button("Log out").click();
  await page.page.getByText("You are logged out.").waitFor();
  const tab = await page.another(`${server.url}/`);
  await logIn(tab, people.admin);
  await page.connection("open");
  await page.page.evaluate(`for (const act of waits) act()`);
  // Requests that this had caused would come first.
  await page.page.evaluate(`fetch("/api/health")`);
  expect(sent).toBe(6);
});
