// A user's logins in the page: listed, and ended one by one.
import { expect, test } from "vitest";
import { ask } from "../harness/http.ts";
import type { PageDriver } from "./page-driver.ts";
import { useStage } from "./stage.ts";

const ACCOUNT = { SERVICE_USERNAME: "ada", SERVICE_PASSWORD: "correct horse" };
const stage = useStage({ env: ACCOUNT, flags: ["--rate-limit-api", "0"] });

async function logIn(): Promise<PageDriver> {
  const { server, chromium } = stage();
  const driver = await chromium.open(server.url);
  await driver.page.getByLabel("Password").fill(ACCOUNT.SERVICE_PASSWORD);
  await driver.button("Log in").click();
  await driver.connection("open");
  return driver;
}

test("a user sees the other logins and ends one, whose page is logged out while this one goes on", async () => {
  const { server } = stage();
  const headers = { "user-agent": "curl/8.5.0" };
  await ask(server.url, "/api/auth/token", { body: { password: ACCOUNT.SERVICE_PASSWORD }, headers });
  await using lost = await logIn();
  await using mine = await logIn();
  await mine.page.getByRole("link", { name: "Logins and links" }).click();
  const items = mine.page.getByRole("list", { name: "Logins" }).getByRole("listitem");
  await expect.poll(() => items.count()).toBe(3);
  await items.filter({ hasText: "curl" }).waitFor();
  expect(await items.filter({ hasText: "this one" }).count()).toBe(1);
  expect(await items.filter({ hasText: "Chrome on" }).filter({ hasText: "127.0.0.1" }).count()).toBe(2);
  await mine.button("End the login of Chrome on Linux from 127.0.0.1").click();
  await expect.poll(() => items.count()).toBe(2);
  await lost.page.getByLabel("Password").waitFor();
  await mine.connection("open");
});

test("a login that was ended meanwhile disappears from the list when it cannot be ended", async () => {
  const { server } = stage();
  const headers = { "user-agent": "wget/1.25" };
  const body = { password: ACCOUNT.SERVICE_PASSWORD };
  const { token } = (await ask(server.url, "/api/auth/token", { body, headers })).json;
  await using mine = await logIn();
  await mine.page.getByRole("link", { name: "Logins and links" }).click();
  const end = mine.button("End the login of wget from 127.0.0.1");
  await end.waitFor();
  const authorization = `Bearer ${token}`;
  const left = await ask(server.url, "/api/auth/logout", { method: "POST", headers: { authorization } });
  expect(left.status).toBe(200);
  await end.click();
  await mine.page
    .getByRole("alert")
    .getByText(/^No login /)
    .waitFor();
  await end.waitFor({ state: "detached" });
});
