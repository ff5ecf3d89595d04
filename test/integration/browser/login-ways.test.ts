// The login page offers the server's methods, and logs in by itself if there is nothing to ask.
import type { Route } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";
import { Chromium } from "./chromium.ts";
import { IdentityProxy } from "./identity-proxy.ts";
import type { PageDriver } from "./page-driver.ts";
import { startPageServer } from "./page-server.ts";

const ACCOUNT = { SERVICE_USERNAME: "ada", SERVICE_PASSWORD: "correct horse" };
const SVG = '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 1 1"/>';
const scope = new AsyncDisposableStack();
let chromium: Chromium;
beforeAll(async () => {
  chromium = scope.use(await Chromium.start({ args: ["--host-resolver-rules=MAP ttyhq.test 127.0.0.1"] }));
});
afterAll(() => scope.disposeAsync());

/** The texts about keys and passwords on the page. */
async function offered({ page }: PageDriver): Promise<Readonly<Record<string, number>>> {
  await page.getByRole("heading", { name: "Log in to ttyhq" }).waitFor();
  return {
    choice: await page.getByRole("radio").count(),
    password: await page.getByLabel("Password", { exact: true }).count(),
    keys: await page.getByRole("button", { name: /key/ }).count(),
  };
}

test("without --enable-ssh-keys nothing is seen of keys, not even of those that are there", async () => {
  await using server = await startPageServer({ flags: [], env: ACCOUNT });
  await using driver = await chromium.open(server.url);
  expect(await offered(driver)).toEqual({ choice: 0, password: 1, keys: 0 });
  const key = {
    name: "old",
    publicKey: `${"A".repeat(43)}=`,
    addedAt: 1,
    secret: { kind: "plain", pkcs8: "AAAA" },
  };
  const entry = [`ttyhq.key.${key.publicKey}`, JSON.stringify(key)].map((text) => JSON.stringify(text));
  await driver.page.evaluate(`localStorage.setItem(${entry.join()})`);
  await driver.page.reload();
  expect(await offered(driver)).toEqual({ choice: 0, password: 1, keys: 0 });
});

test("with --disallow-user-password there is no password to be asked for", async () => {
  await using server = await startPageServer({ flags: ["--disallow-user-password"] });
  await using driver = await chromium.open(server.url);
  expect(await offered(driver)).toEqual({ choice: 0, password: 0, keys: 2 });
});

test("a page without the browser's cryptography says why, and how to get it", async () => {
  await using server = await startPageServer({ flags: ["--enable-ssh-keys"], env: ACCOUNT });
  const { port } = new URL(server.url);
  await using driver = await chromium.open(`http://ttyhq.test:${port}`);
  await driver.page.getByLabel("With a key").check();
  await driver.page
    .getByText(`run ssh -L ${port}:localhost:${port} ttyhq.test and open http://localhost:${port}`)
    .waitFor();
  expect(await offered(driver)).toEqual({ choice: 2, password: 0, keys: 0 });
  await driver.page.getByLabel("With a password").check();
  await driver.page.getByLabel("Password", { exact: true }).fill(ACCOUNT.SERVICE_PASSWORD);
  await driver.button("Log in").click();
  await driver.connection("open");
});

test("a user of a proxy is admitted at once, without a token, and has no log out", async () => {
  const flags = ["--enable-proxy-serve", "--proxy-external"];
  await using server = await startPageServer({ flags, env: ACCOUNT });
  await using proxy = await IdentityProxy.start(server.url);
  proxy.login = "ada";
  await using driver = await chromium.open(proxy.url);
  await driver.connection("open");
  await driver.page.getByTitle("Logged in as ada").waitFor();
  expect(await driver.button("Log out").count()).toBe(0);
  expect(await driver.page.evaluate("localStorage.getItem('ttyhq.login')")).toBe(null);
  await driver.startShell();
  await driver.enter("echo in-$((1 + 1))");
  await driver.shows("\nin-2\n");
  await driver.page.getByRole("link", { name: "New session" }).click();
  await driver.button("Start").waitFor();
  // The proxy no longer knows the user. The page may find out by a request of its own: then the button is gone.
  proxy.login = undefined;
  await driver.page.evaluate("document.querySelector('.new-form [type=submit]')?.click()");
  await driver.page.getByText("Your login has ended. Please log in again.").waitFor();
  proxy.login = "ada";
  await driver.page.reload();
  await driver.connection("open");
});

test("one request that a proxy did not identify neither logs its user out nor ends the connection", async () => {
  const flags = ["--enable-proxy-serve", "--proxy-external"];
  await using server = await startPageServer({ flags, env: ACCOUNT });
  await using proxy = await IdentityProxy.start(server.url);
  proxy.login = "ada";
  await using driver = await chromium.open("about:blank");
  const { page } = driver;
  await page.clock.install();
  await page.goto(proxy.url);
  await driver.connection("open");
  // The page logs in by itself again, but not at once.
  await page.clock.fastForward(60_000);
  const refused = Promise.withResolvers<void>();
  const answer = async (route: Route): Promise<void> => {
    await route.fulfill({ status: 401, body: "" });
    refused.resolve();
  };
  await page.route("**/api/auth/ws-ticket", answer, { times: 1 });
  await page.evaluate("dispatchEvent(new Event('offline'))");
  await refused.promise;
  await driver.startShell();
  await driver.enter("echo in-$((1 + 1))");
  await driver.shows("\nin-2\n");
});

test("a user of a proxy is shown by name and picture, without a referrer for other sites", async () => {
  const flags = ["--enable-proxy-serve", "--proxy-external", "--allow-user", "ada@example.com"];
  await using server = await startPageServer({ flags, env: ACCOUNT });
  await using proxy = await IdentityProxy.start(server.url);
  proxy.login = "ada@example.com";
  proxy.more = { "proxy-user-name": "Ada Lovelace", "proxy-user-profile-pic": "https://pictures.test/ada" };
  await using driver = await chromium.open(proxy.url);
  const asked = Promise.withResolvers<Record<string, string>>();
  await driver.page.route("https://pictures.test/**", async (route) => {
    asked.resolve(await route.request().allHeaders());
    await route.fulfill({ contentType: "image/svg+xml", body: SVG });
  });
  await driver.page.reload();
  await driver.page.getByTitle("Logged in as ada@example.com").getByText("Ada Lovelace").waitFor();
  expect(await asked.promise).not.toHaveProperty("referer");
  const avatar = driver.page.locator("img.avatar");
  expect(await avatar.getAttribute("src")).toBe("https://pictures.test/ada");
  // The server's picture replaces one that does not load.
  await driver.page.unroute("https://pictures.test/**");
  await driver.page.route("https://pictures.test/**", (route) => route.abort());
  await driver.page.reload();
  await driver.page.locator("img.avatar[src='/api/auth/avatar/ada%40example.com']").waitFor();
});

test("with --allow-local-bypass a browser on the same machine is in at once", async () => {
  await using server = await startPageServer({ flags: ["--allow-local-bypass"], env: ACCOUNT });
  await using driver = await chromium.open(server.url);
  await driver.startShell();
  expect(await driver.button("Log out").count()).toBe(0);
});

test("the picture of the user is shown, and nothing where there is none", async () => {
  await using server = await startPageServer({ flags: ["--enable-ssh-keys"], env: ACCOUNT });
  await using driver = await chromium.open(server.url);
  const avatar = driver.page.locator("img.avatar");
  await driver.page.getByLabel("User").fill("ada");
  await driver.page.getByLabel("Password", { exact: true }).focus();
  await avatar.waitFor();
  expect(await avatar.getAttribute("src")).toBe("/api/auth/avatar/ada");
  await driver.page.getByLabel("User").fill("ada@example.com");
  await driver.page.getByLabel("Password", { exact: true }).focus();
  await driver.page.locator("img.avatar[src='/api/auth/avatar/ada%40example.com']").waitFor();
  await driver.page.route("**/avatar/**", (route) => route.abort());
  await driver.page.getByLabel("User").fill("bob");
  await driver.page.getByLabel("Password", { exact: true }).focus();
  await avatar.waitFor({ state: "detached" });
});
