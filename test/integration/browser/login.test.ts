import { expect, test } from "vitest";
import { useStage } from "./stage.ts";

const ACCOUNT = { SERVICE_USERNAME: "ada", SERVICE_PASSWORD: "correct horse" };
const stage = useStage({ flags: ["--login-link"], env: ACCOUNT });

test("the password is asked for, a wrong one is refused, the right one opens the sessions", async () => {
  const { server, chromium } = stage();
  await using page = await chromium.open(server.url);
  await page.page.getByLabel("User").fill("ada");
  await page.page.getByLabel("Password").fill("wrong");
  await page.button("Log in").click();
  await page.page.getByRole("alert").getByText(/\w/).waitFor();
  await page.page.getByLabel("Password").fill(ACCOUNT.SERVICE_PASSWORD);
  await page.button("Log in").click();
  await page.startShell();
  await page.enter("echo in-$((1 + 1))");
  await page.shows("\nin-2\n");
});

test("a login lasts over a reload and in another tab, until the log out, which is everywhere", async () => {
  const { server, chromium } = stage();
  await using page = await chromium.open(server.url);
  await page.page.getByLabel("User").fill("ada");
  await page.page.getByLabel("Password").fill(ACCOUNT.SERVICE_PASSWORD);
  await page.button("Log in").click();
  await page.connection("open");
  await page.page.reload();
  await page.connection("open");
  const tab = await page.another(server.url);
  await tab.connection("open");
  await page.button("Log out").click();
  await page.page.getByText("You are logged out.").waitFor();
  await tab.page.getByText(/You logged out in another window|Your login has ended/).waitFor();
});

test("a login link logs in once and leaves no trace in the address", async () => {
  const { server, chromium } = stage();
  const { loginLink } = server;
  await using page = await chromium.open(loginLink);
  await page.connection("open");
  expect(page.page.url()).toBe(`${server.url}/#/`);
  await using late = await chromium.open(loginLink);
  await late.page.getByText("This login link has already been used or has expired.").waitFor();
  expect(late.page.url()).toBe(`${server.url}/#/`);
});

test("a login page without any way in names the command that prints a link", async () => {
  const { server, chromium } = stage();
  await using page = await chromium.open("about:blank");
  // Imitates a server with neither PAM nor a password of its own, but with --login-link.
  await page.page.route("**/api/auth/config", async (route) => {
    const { passwordMode, ...config } = await (await route.fetch()).json();
    await route.fulfill({ json: config });
  });
  await page.page.goto(server.url);
  await page.page
    .getByText("There is no way to log in on this page.")
    .getByText("ttyhq login-link")
    .waitFor();
  expect(await page.page.getByRole("textbox").count()).toBe(0);
  await page.page.unrouteAll({ behavior: "wait" });
});

test("a token that the server does not know any more leads back to the log in", async () => {
  const { server, chromium } = stage();
  await using page = await chromium.open(server.url);
  await page.page.getByLabel("Password").waitFor();
  const login = { token: "no.such.token", user: "ada", expiresAt: Date.now() + 3_600_000 };
  await page.page.evaluate(`localStorage.setItem("ttyhq.login", ${JSON.stringify(JSON.stringify(login))})`);
  await page.page.reload();
  await page.page.getByText("Your login has ended. Please log in again.").waitFor();
});

test("the page says that the connection is not encrypted, but where it does not leave the machine", async () => {
  const { server, chromium } = stage();
  await using page = await chromium.open(server.url);
  const notice = page.page.getByText("This connection is not encrypted.");
  await page.page.getByLabel("Password").waitFor();
  expect(await notice.count()).toBe(0);
  const elsewhere = "http://terminals.example.com";
  await page.page.route(`${elsewhere}/**`, async (route) => {
    const response = await route.fetch({ url: route.request().url().replace(elsewhere, server.url) });
    await route.fulfill({ response });
  });
  await page.page.goto(`${elsewhere}/`);
  await notice.waitFor();
  // Pending requests are answered before the page is closed.
  await page.page.unrouteAll({ behavior: "wait" });
});
