// The audit log, share links and logins in the page.
import { expect, test } from "vitest";
import { MAX_SHARES, MAX_SHARES_OF_USER } from "../../../src/protocol/limits.ts";
import { ask } from "../harness/http.ts";
import type { PageDriver } from "./page-driver.ts";
import { useStage } from "./stage.ts";

const ACCOUNT = { SERVICE_USERNAME: "ada", SERVICE_PASSWORD: "correct horse" };
const stage = useStage({ env: ACCOUNT, flags: ["--rate-limit-api", "0"] });

const LINKS = 101;

function logIn(password: string) {
  return ask(stage().server.url, "/api/auth/token", { body: { password } });
}

/** The page with the audit log, logged in. */
async function openLog(token: unknown): Promise<PageDriver> {
  const { server, chromium } = stage();
  const user = { user: ACCOUNT.SERVICE_USERNAME, token, expiresAt: Date.now() + 3_600_000 };
  const localStorage = [{ name: "ttyhq.login", value: JSON.stringify(user) }];
  const storageState = { cookies: [], origins: [{ origin: server.url, localStorage }] };
  return await chromium.open(`${server.url}/#/audit`, { storageState });
}

test("an admin finds a refused login in the log, reads older entries, revokes a link, and sees how many there are", async () => {
  const { server } = stage();
  await logIn("wrong horse");
  const { json } = await logIn(ACCOUNT.SERVICE_PASSWORD);
  const headers = { authorization: `Bearer ${json.token}` };
  const body = { command: ["sleep", "1000"], name: "shown to others" };
  const { id } = (await ask(server.url, "/api/sessions", { body, headers })).json;
  const links = `/api/sessions/${id}/share`;
  // More than a page of the log.
  for (let made = 0; made < LINKS; made += 1) await ask(server.url, links, { body: {}, headers });

  await using driver = await openLog(json.token);
  const { page } = driver;
  const cell = (name: string) => page.getByRole("cell", { name, exact: true });
  await cell("share.create").first().waitFor();
  expect(await cell("session.create").count()).toBe(0);
  await driver.button("Older entries").click();
  await cell("session.create").waitFor();

  await page.getByLabel("Result").selectOption("refused");
  await driver.button("Show").click();
  await cell("share.create").first().waitFor({ state: "detached" });
  await cell("login").first().waitFor();
  expect(await cell("ok").count()).toBe(0);
  await page.getByLabel("User").fill("nobody");
  await driver.button("Show").click();
  await page.getByText("No entry matches.").waitFor();

  await page.getByRole("link", { name: "Logins and links" }).click();
  const revoke = page.getByRole("button", { name: "Revoke the link to shown to others" });
  await expect.poll(() => revoke.count()).toBe(LINKS);
  await revoke.first().click();
  await expect.poll(() => revoke.count()).toBe(LINKS - 1);

  await page.getByRole("link", { name: "Usage and limits" }).click();
  const row = page.getByRole("row").filter({ has: page.getByRole("rowheader", { name: "ada" }) });
  await row.getByRole("cell", { name: `${LINKS - 1} of ${MAX_SHARES_OF_USER}` }).waitFor();
  await page.getByText(`Share links of all users: ${LINKS - 1} of ${MAX_SHARES}.`).waitFor();
  await page.getByText("A user may make any number of API calls.").waitFor();
});

test("an answer that comes after that of a newer filter is ignored", async () => {
  const { json } = await logIn(ACCOUNT.SERVICE_PASSWORD);
  await using driver = await openLog(json.token);
  const { page } = driver;
  const release = Promise.withResolvers<void>();
  const answered = Promise.withResolvers<void>();
  await page.route(/action=login/, async (route) => {
    const response = await route.fetch();
    await release.promise;
    await route.fulfill({ response });
    answered.resolve();
  });
  const action = page.getByLabel("Action");
  const show = driver.button("Show");
  await page.getByRole("table").waitFor();
  await action.fill("login");
  await show.click();
  await action.fill("no.such");
  await show.click();
  await page.getByText("No entry matches.").waitFor();
  release.resolve();
  await answered.promise;
  // A later answer: the page has handled the late one before.
  await page.evaluate("fetch('/api/health').then((answer) => answer.text())");
  expect(await page.getByText("No entry matches.").count()).toBe(1);
});
