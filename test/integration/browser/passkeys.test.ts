// The second factor from a person's view, with Chromium's virtual authenticator.
import { readFile, stat } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { ttyhq } from "../harness/command.ts";
import { ask } from "../harness/http.ts";
import type { PageDriver } from "./page-driver.ts";
import { startPageServer } from "./page-server.ts";
import { useStage } from "./stage.ts";

const ACCOUNT = { SERVICE_USERNAME: "ada", SERVICE_PASSWORD: "correct horse" };
const stage = useStage({ env: ACCOUNT, flags: ["--rate-limit-api", "0"] });

/** Passkeys are bound to host names, not to addresses. */
const siteOf = ({ url }: { readonly url: string }): string => url.replace("127.0.0.1", "localhost");

/** A device of the person; its passkeys can be removed. */
async function authenticator({ page }: PageDriver): Promise<{ readonly clear: () => Promise<void> }> {
  const cdp = await page.context().newCDPSession(page);
  await cdp.send("WebAuthn.enable");
  const { authenticatorId } = await cdp.send("WebAuthn.addVirtualAuthenticator", {
    options: {
      ...{ protocol: "ctap2", transport: "internal", automaticPresenceSimulation: true },
      ...{ hasResidentKey: true, hasUserVerification: true, isUserVerified: true },
    },
  });
  return { clear: async () => void (await cdp.send("WebAuthn.clearCredentials", { authenticatorId })) };
}

async function enterPassword({ page }: PageDriver): Promise<void> {
  await page.getByLabel("User").fill("ada");
  await page.getByLabel("Password").fill(ACCOUNT.SERVICE_PASSWORD);
  await page.getByRole("button", { name: "Log in", exact: true }).click();
}

async function addPasskey(driver: PageDriver): Promise<readonly string[]> {
  await driver.button("Passkeys").click();
  await driver.page.getByLabel("Name of the new passkey").fill("Laptop");
  await driver.button("Add a passkey").click();
  const text = await driver.page.locator(".recovery-codes pre").innerText();
  return text.trim().split("\n");
}

async function removePasskey(driver: PageDriver): Promise<void> {
  await driver.button("Remove Laptop").click();
  await driver.button("Remove").click();
  await driver.page.getByText("the password alone is enough").waitFor();
}

/** Logs in by password and adds the first passkey. */
async function enrolled(driver: PageDriver) {
  const device = await authenticator(driver);
  await enterPassword(driver);
  await driver.connection("open");
  return { device, codes: await addPasskey(driver) };
}

const withPassword = (more: object = {}) =>
  ask(siteOf(stage().server), "/api/auth/token", {
    body: { username: "ada", password: ACCOUNT.SERVICE_PASSWORD, ...more },
  });

test("a user with a passkey is asked for it after the password, and a recovery code replaces it once", async () => {
  const { server, chromium } = stage();
  await using driver = await chromium.open(siteOf(server));
  const { device, codes } = await enrolled(driver);
  expect(new Set(codes).size).toBe(10);
  await driver.button("Close").click();
  await driver.button("Log out").click();
  await driver.page.getByText("You are logged out.").waitFor();

  await enterPassword(driver);
  await driver.button("Use a passkey").click();
  await driver.connection("open");
  await driver.button("Log out").click();
  await driver.page.getByText("You are logged out.").waitFor();

  // Programs have no authenticator.
  const refused = await withPassword();
  expect([refused.status, refused.json.code]).toEqual([401, "second_factor_required"]);
  expect(refused.json.details).toMatchObject({ recoveryCodes: 10 });
  expect(refused.json).not.toHaveProperty("token");
  const [first = "", second = ""] = codes;
  expect((await withPassword({ recoveryCode: first.toLowerCase() })).status).toBe(200);
  expect((await withPassword({ recoveryCode: first })).json.code).toBe("invalid_credentials");
  expect((await withPassword({ password: "wrong", recoveryCode: second })).status).toBe(401);

  // Another device: only the codes are left.
  await device.clear();
  await enterPassword(driver);
  await driver.button("Use a passkey").click();
  await driver.page
    .getByRole("alert")
    .getByText(/no matching passkey/)
    .waitFor();
  await driver.page.getByText("Use a recovery code").click();
  await driver.page.getByLabel("Recovery code").fill(first);
  await driver.page.locator("details").getByRole("button", { name: "Log in" }).click();
  await driver.page.getByText(/wrong, or was used already.*log in again/).waitFor();
  await enterPassword(driver);
  await driver.page.getByText("Use a recovery code").click();
  await driver.page.getByLabel("Recovery code").fill(second);
  await driver.page.locator("details").getByRole("button", { name: "Log in" }).click();
  await driver.connection("open");
  await driver.button("Passkeys").click();
  await driver.page.getByText("8 recovery codes are left").waitFor();
  await removePasskey(driver);
  expect((await withPassword()).status).toBe(200);
});

test("new recovery codes stay in sight while further passkeys are added and removed", async () => {
  const { server, chromium } = stage();
  await using driver = await chromium.open(siteOf(server));
  const { device, codes } = await enrolled(driver);
  // It creates no second passkey while it has one.
  await device.clear();
  await driver.page.getByLabel("Name of the new passkey").fill("Key");
  await driver.button("Add a passkey").click();
  await driver.button("Remove Key").waitFor();
  const shown = driver.page.locator(".recovery-codes pre");
  expect((await shown.innerText()).trim().split("\n")).toEqual(codes);
  await driver.button("Remove Key").click();
  await driver.button("Remove").click();
  await driver.button("Remove Key").waitFor({ state: "detached" });
  expect((await shown.innerText()).trim().split("\n")).toEqual(codes);
  await removePasskey(driver);
  await shown.waitFor({ state: "detached" });
});

test("an answer for another challenge, another site or by another key lets nobody in", async () => {
  const { server, chromium } = stage();
  await using driver = await chromium.open(siteOf(server));
  await authenticator(driver);
  await enterPassword(driver);
  await driver.connection("open");
  await addPasskey(driver);
  const headers = { origin: siteOf(server) };
  const challenge = async () => {
    const body = { username: "ada", password: ACCOUNT.SERVICE_PASSWORD };
    return (await ask(siteOf(server), "/api/auth/token", { body, headers })).json.details;
  };
  const answer = (challengeId: string, assertion: object) =>
    ask(siteOf(server), "/api/auth/second-factor", { body: { challengeId, assertion }, headers });
  /** In the format of the page. */
  const signed = async (options: object): Promise<Record<string, unknown>> =>
    Object(
      await driver.page.evaluate(`(async () => {
        const options = PublicKeyCredential.parseRequestOptionsFromJSON(${JSON.stringify(options)});
        return (await navigator.credentials.get({ publicKey: options })).toJSON();
      })()`),
    );
  const [one, other] = [await challenge(), await challenge()];
  const assertion = await signed(one.assertion);
  expect((await answer(other.challengeId, assertion)).json.code).toBe("invalid_credentials");
  // It was answered, though wrongly.
  expect((await answer(other.challengeId, await signed(other.assertion))).json.code).toBe("unauthorized");
  const { response } = Object(assertion);
  const forged = {
    ...assertion,
    response: { ...response, signature: `${response.signature.slice(0, -4)}AAAA` },
  };
  const again = await challenge();
  expect((await answer(again.challengeId, forged)).status).toBe(401);
  expect((await answer(one.challengeId, assertion)).status).toBe(200);
  expect((await answer(one.challengeId, assertion)).json.code).toBe("unauthorized");
  // A page at another name has no passkey.
  const elsewhere = await ask(siteOf(server), "/api/auth/token", {
    body: { username: "ada", password: ACCOUNT.SERVICE_PASSWORD },
    headers: {
      host: `ttyhq.localhost:${new URL(siteOf(server)).port}`,
      origin: siteOf(server).replace("localhost", "ttyhq.localhost"),
    },
  });
  expect(elsewhere.json.code).toBe("second_factor_required");
  expect(elsewhere.json.details).not.toHaveProperty("assertion");
  await removePasskey(driver);
});

test("its stored form is readable only by its owner, and contains no code", async () => {
  const { server, chromium } = stage();
  await using driver = await chromium.open(siteOf(server));
  await authenticator(driver);
  await enterPassword(driver);
  await driver.connection("open");
  const [code = ""] = await addPasskey(driver);
  const path = join(server.controlDir, "passkeys.json");
  expect((await stat(path)).mode & 0o777).toBe(0o600);
  expect(await readFile(path, "utf8")).not.toContain(code);
  await removePasskey(driver);
});

test("where a second factor is required, an administrator's code and the password make the first one", async () => {
  const { chromium } = stage();
  await using server = await startPageServer({ env: ACCOUNT, flags: ["--require-second-factor"] });
  await using driver = await chromium.open(siteOf(server));
  await authenticator(driver);
  await enterPassword(driver);
  const { stdout } = await ttyhq(["enrolment-code", "ada", "--control-dir", server.controlDir]);
  await driver.page.getByLabel("Enrolment code").fill(stdout);
  await driver.button("Create a passkey").click();
  await driver.page.locator(".recovery-codes pre").waitFor();
  await driver.button("I have kept them").click();
  await driver.connection("open");
  await driver.button("Log out").click();
  await driver.page.getByText("You are logged out.").waitFor();
  await enterPassword(driver);
  await driver.button("Use a passkey").click();
  await driver.connection("open");
});
