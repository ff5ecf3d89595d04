// The view of an HQ's machines: their data, cordoning, and joining.
import { afterAll, beforeAll, expect, test } from "vitest";
import { TestFleet } from "../harness/test-fleet.ts";
import { TestServer } from "../harness/test-server.ts";
import { Chromium } from "./chromium.ts";
import type { PageDriver } from "./page-driver.ts";

const scope = new AsyncDisposableStack();
let chromium: Chromium;
beforeAll(async () => {
  chromium = scope.use(await Chromium.ofProcess());
});
afterAll(() => scope.disposeAsync());

function machine({ page }: PageDriver, name: string) {
  return page.getByRole("list", { name: "Machines" }).getByRole("listitem", { name, exact: true });
}

test("a machine joins by the line of the view, and is cordoned and loses its key there", async () => {
  await using fleet = await TestFleet.start();
  await fleet.create("worker-1", { command: ["sleep", "1000"] });
  await using driver = await chromium.open(fleet.hq.url);
  const { page } = driver;
  await page.getByRole("link", { name: "Machines", exact: true }).click();
  await machine(driver, "worker-1").getByText("1 running").waitFor();
  await machine(driver, "worker-1").getByText("seen just now").waitFor();

  await driver.button("Add a machine…").click();
  await page.getByLabel("Name", { exact: true }).fill("newcomer");
  await driver.button("Create a token").click();
  const line = (await page.getByRole("dialog").locator("pre").textContent()) ?? "";
  const [, token, args] = /^TTYHQ_JOIN_TOKEN=(\S+) ttyhq serve (.*)$/.exec(line) ?? [];
  await driver.button("Close").click();
  await page.getByRole("list", { name: "Join tokens" }).getByText("newcomer").waitFor();
  const joined = await TestServer.start({
    args: ["--no-auth", ...(args ?? "").split(" ")],
    env: { TTYHQ_JOIN_TOKEN: token ?? "" },
  });
  await using _newcomer = joined;
  await machine(driver, "newcomer").getByText("up", { exact: true }).waitFor();
  await page.getByRole("list", { name: "Join tokens" }).waitFor({ state: "detached" });

  await driver.button("Cordon newcomer").click();
  await machine(driver, "newcomer").getByText("cordoned", { exact: true }).waitFor();
  await driver.button("Uncordon newcomer").click();
  await machine(driver, "newcomer").getByText("up", { exact: true }).waitFor();

  await driver.button("Revoke the key of newcomer").click();
  await page.getByRole("dialog").getByRole("button", { name: "Revoke", exact: true }).click();
  await driver.button("Revoke the key of newcomer").waitFor({ state: "detached" });

  // After a health check it shows version, load and latency.
  await machine(driver, "worker-1")
    .getByText(/^\d+ ms$/)
    .waitFor();
  await machine(driver, "worker-1")
    .getByText(/^load \d/)
    .waitFor();
});

test("of a thousand machines those in sight are drawn, and one is found by its label", async () => {
  await using fleet = await TestFleet.start();
  const record = await fleet.record("worker-1");
  const thousand = Array.from({ length: 1_000 }, (_, index) => {
    const name = `machine-${String(index).padStart(4, "0")}`;
    return { ...record, id: name, name, labels: { row: String(index) } };
  });
  await using driver = await chromium.open(fleet.hq.url);
  const { page } = driver;
  // There is no space for that many processes here.
  await page.route("**/api/remotes?down=1", (route) => route.fulfill({ json: thousand }));
  await page.getByRole("link", { name: "Machines", exact: true }).click();
  await machine(driver, "machine-0000").waitFor();
  const items = page.getByRole("list", { name: "Machines" }).getByRole("listitem");
  expect(await items.count()).toBeLessThan(100);
  await page.evaluate(`{
    const body = document.querySelector(".view-body");
    body.scrollTop = body.scrollHeight;
  }`);
  await machine(driver, "machine-0999").waitFor();
  await page.getByLabel("Filter machines").fill("row=500");
  await machine(driver, "machine-0500").waitFor();
  await page.getByText("1 of 1000 machines").waitFor();
});
