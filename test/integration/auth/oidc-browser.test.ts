// A person in a browser logs in at the provider, works, and logs out.
import { expect, test } from "vitest";
import { Chromium } from "../browser/chromium.ts";
import { useOidcStage } from "./oidc-stage.ts";

const stage = useOidcStage({
  args: () => ["--proxy-oidc-claim", "preferred_username", "--allow-user", "server"],
});

test("somebody opens the page, signs in at the provider, works in a terminal, and logs out", async () => {
  const { provider, origin } = stage();
  // The server's own user.
  provider.person = { sub: "1", preferred_username: "server", name: "Ada Lovelace" };
  await using chromium = await Chromium.ofProcess();
  // A test certificate authority.
  await using driver = await chromium.open(origin, { ignoreHTTPSErrors: true });
  const { page } = driver;
  await page.getByRole("button", { name: "Sign in (login)" }).click();
  await page.getByRole("button", { name: "Sign in (consent)" }).click();
  await page.waitForURL(`${origin}/`);
  await driver.startShell();
  await driver.enter("echo in-$((1 + 1))");
  await driver.shows("\nin-2\n");
  await page.reload();
  await driver.connection("open");
  await page.getByRole("link", { name: "Log out" }).click();
  await page.waitForURL(`${origin}/.proxy/logout`);
  await page.getByText("You are logged in as Ada Lovelace (server).").waitFor();
  await page.getByRole("button", { name: "Log out" }).click();
  await page.getByRole("button", { name: "Yes" }).click();
  await page.getByRole("heading", { name: "Logged out" }).waitFor();
  expect(page.url()).toBe(`${origin}/.proxy/logged-out`);
  await page.getByRole("link", { name: "Log in" }).click();
  await page.getByRole("button", { name: "Sign in (login)" }).waitFor();
});

test("no script of another page reads what the proxy keeps in the browser", async () => {
  const { origin } = stage();
  await using chromium = await Chromium.ofProcess();
  await using driver = await chromium.open(origin, { ignoreHTTPSErrors: true });
  const { page } = driver;
  for (const name of ["Sign in (login)", "Sign in (consent)"])
    await page.getByRole("button", { name }).click();
  await page.waitForURL(`${origin}/`);
  expect(await page.evaluate("document.cookie")).toBe("");
  const kept = await page.context().cookies(origin);
  expect(kept.map(({ name, httpOnly, secure, sameSite }) => [name, httpOnly, secure, sameSite])).toEqual([
    ["__Host-ttyhq-login", true, true, "Lax"],
  ]);
});
