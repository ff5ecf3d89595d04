// Navigating among many sessions.
import { beforeAll, expect, test } from "vitest";
import { z } from "zod";
import { ask } from "../harness/http.ts";
import type { PageDriver } from "./page-driver.ts";
import { createSession } from "./page-server.ts";
import { useStage } from "./stage.ts";

const COUNT = 60;
const Clients = z.array(z.object({ subscriptions: z.array(z.string()) }));
const stage = useStage();

beforeAll(async () => {
  const { server } = stage();
  const start = async (number: number): Promise<void> =>
    void (await createSession(server, ["sleep", "1000"], `worker ${number}`));
  for (let number = 1; number <= COUNT; number += 4) {
    await Promise.all([0, 1, 2, 3].map((more) => start(number + more)));
  }
  await createSession(server, ["false"], "broken build");
  await createSession(server, ["cat"], "web server");
});

/** The drawn names in the list. */
async function drawn({ page }: PageDriver): Promise<readonly string[]> {
  return await page.getByRole("navigation").locator(".row-name").allTextContents();
}

test("of a long list the rows in sight are drawn, and the others as they come into sight", async () => {
  const { server, chromium } = stage();
  await using page = await chromium.open(server.url);
  const list = page.page.getByRole("navigation");
  await list.getByText("web server").waitFor();
  await expect.poll(async () => (await drawn(page)).length).toBeLessThan(COUNT - 10);
  const order = page.page.getByLabel("Order");
  await order.selectOption("By name");
  await list.getByText("worker 1", { exact: true }).waitFor();
  await list.hover();
  await page.page.mouse.wheel(0, 100_000);
  await list.getByText(`worker ${COUNT}`, { exact: true }).waitFor();
  await list.getByText("broken build").waitFor();
  expect(await drawn(page)).not.toContain("web server");
  expect((await drawn(page)).length).toBeLessThan(COUNT - 10);
});

test("on a phone the list is where it was after a look at one of its sessions", async () => {
  const { server, chromium } = stage();
  await using page = await chromium.open(server.url, { viewport: { width: 390, height: 780 } });
  const rows = page.page.getByRole("navigation").locator("a");
  await rows.first().waitFor();
  await page.page.evaluate(`document.querySelector(".sessions").scrollTop = 1500`);
  const scrolled = () => page.page.evaluate(`document.querySelector(".sessions").scrollTop`);
  const row = page.page.getByRole("navigation").getByText("worker 30", { exact: true });
  await row.scrollIntoViewIfNeeded();
  const before = await scrolled();
  expect(before).toBeGreaterThan(1000);
  await row.click();
  await page.phase("running");
  await page.page.goBack();
  await row.waitFor();
  expect(await scrolled()).toBe(before);
});

test("scrolling back through the list does not jump to the open session", async () => {
  const { server, chromium } = stage();
  await using page = await chromium.open(server.url);
  const row = page.page.getByRole("navigation").getByText("web server");
  await row.click();
  await page.phase("running");
  const scroll = async (px: number): Promise<void> =>
    void (await page.page.evaluate(`document.querySelector(".sessions").scrollTop = ${px}`));
  const scrolled = () => page.page.evaluate(`document.querySelector(".sessions").scrollTop`);
  await scroll(100_000);
  await row.waitFor({ state: "detached" });
  await scroll(600);
  // Drawn again, above the rows in sight.
  await row.waitFor({ state: "attached" });
  await page.page.evaluate(
    "new Promise((drawn) => requestAnimationFrame(() => requestAnimationFrame(() => setTimeout(drawn))))",
  );
  expect(await scrolled()).toBe(600);
});

test("the list is filtered by words and by state, and what it shows is ended and removed at once", async () => {
  const { server, chromium } = stage();
  await using page = await chromium.open(server.url);
  const filter = page.page.getByLabel("Filter sessions");
  await filter.fill("build bro");
  await expect.poll(() => drawn(page)).toEqual(["broken build"]);
  await filter.fill("");
  await page.page.getByLabel("State").selectOption("Ended");
  await expect.poll(() => drawn(page)).toEqual(["broken build"]);
  await page.page.getByLabel("State").selectOption("All states");
  await filter.fill("worker 5");
  const numbers = Array.from({ length: COUNT }, (_, index) => String(index + 1));
  const some = numbers.filter((number) => number.includes("5")).map((number) => `worker ${number}`);
  await expect.poll(async () => (await drawn(page)).toSorted()).toEqual(some.toSorted());
  await page.button("End 15 sessions").click();
  await page.page.getByRole("dialog").getByRole("button", { name: "End" }).click();
  // They end one after the other.
  await page.page.getByText("No running session matches.").waitFor();
  await page.button("Remove all").click();
  const question = page.page.getByRole("dialog");
  await question.getByText("Remove 15 ended sessions?").waitFor();
  await question.getByRole("button", { name: "Remove" }).click();
  await expect.poll(() => drawn(page)).toEqual([]);
  await filter.fill("broken");
  await expect.poll(() => drawn(page)).toEqual(["broken build"]);
});

test("some letters find a session and open it, and the keys for next and previous lead on and back", async () => {
  const { server, chromium } = stage();
  await using page = await chromium.open(server.url);
  await page.page.getByRole("navigation").getByText("web server").waitFor();
  await page.page.keyboard.press("Control+Shift+K");
  await page.page.getByRole("combobox", { name: "Find a session" }).fill("wsrv");
  await page.page.getByRole("option", { selected: true }).getByText("web server").waitFor();
  await page.page.keyboard.press("Enter");
  await page.phase("running");
  await page.enter("typed");
  await page.shows("typed\ntyped\n");
  const opened = page.page.url();
  await page.page.keyboard.press("Control+Shift+ArrowDown");
  await page.page.waitForURL((url) => url.href !== opened);
  await page.phase("running");
  await page.page.keyboard.press("Control+Shift+ArrowUp");
  await page.page.waitForURL(opened);
  await page.shows("typed\ntyped\n");
  // For a program, Ctrl+K is an ordinary key.
  await page.page.keyboard.press("Control+K");
  await page.page.keyboard.press("Enter");
  await page.shows("^K");
});

test("a session that starts meanwhile does not change the choice among those found", async () => {
  const { server, chromium } = stage();
  await using page = await chromium.open(server.url);
  await page.page.getByRole("navigation").getByText("web server").waitFor();
  await page.page.keyboard.press("Control+Shift+K");
  const found = page.page.getByRole("listbox", { name: "Sessions found" });
  const chosen = found.getByRole("option", { selected: true });
  const first = await chosen.textContent();
  await page.page.keyboard.press("ArrowDown");
  await expect.poll(() => chosen.textContent()).not.toBe(first);
  const before = await chosen.textContent();
  await createSession(server, ["cat"], "started meanwhile");
  await found.getByRole("option", { name: "started meanwhile" }).waitFor();
  expect(await chosen.textContent()).toBe(before);
});

test("previews show the screens in sight as they change, and each leads to its session", async () => {
  const { server, chromium } = stage();
  const fill = (colour: string): string => `printf '\\033[48;2;${colour}m\\033[2J'`;
  const program = `${fill("200;10;10")}; read line; ${fill("10;10;200")}; read line`;
  const id = await createSession(server, ["sh", "-c", program], "traffic light");
  await using page = await chromium.open(`${server.url}/#/previews`);
  const previews = page.page.getByRole("region", { name: "Previews" });
  await previews.getByRole("link", { name: "traffic light" }).waitFor();
  const drawn = previews.locator("canvas.drawn");
  await expect.poll(() => drawn.count()).toBeGreaterThan(0);
  const cards = await previews.getByRole("link").count();
  expect(await drawn.count()).toBeLessThan(cards / 2);
  await page.page.getByLabel("Filter sessions").fill("traffic");
  await expect.poll(() => drawn.count()).toBe(1);
  const middle = () =>
    page.page.evaluate(`(() => {
      const canvas = document.querySelector("canvas.drawn");
      return [...canvas.getContext("2d").getImageData(canvas.width / 2, canvas.height / 2, 1, 1).data];
    })()`);
  await expect.poll(middle).toEqual([200, 10, 10, 255]);
  expect((await ask(server.url, `/api/sessions/${id}/input`, { body: { text: "\r" } })).status).toBe(200);
  await expect.poll(middle).toEqual([10, 10, 200, 255]);
  await previews.getByRole("link", { name: "traffic light" }).click();
  await page.phase("running");
  await page.enter("");
  await page.phase("ended");
  await page.page.goBack();
  await expect.poll(middle).toEqual([10, 10, 200, 255]);
});

test("a session opened from its preview takes the window's size, even if it was counted and the permissions are late", async () => {
  const { server, chromium } = stage();
  const { id } = (await ask(server.url, "/api/sessions", { body: { command: ["cat"], cols: 50 } })).json;
  await using page = await chromium.open("about:blank");
  // Imitates a preview that ends while the session is asked for.
  await page.page.route(`**/api/sessions/${id}`, async (route) => {
    const response = await route.fetch();
    await route.fulfill({ response, json: { ...(await response.json()), viewers: 1 } });
  });
  const release = Promise.withResolvers<void>();
  await page.page.route("**/api/auth/verify", async (route) => {
    await release.promise;
    await route.continue();
  });
  page.page.on("websocket", (socket) =>
    socket.on("framereceived", ({ payload }) => {
      if (String(payload).includes('"kind":"viewers"')) release.resolve();
    }),
  );
  await page.page.goto(`${server.url}/#/s/${id}`);
  await page.phase("running");
  await expect.poll(async () => (await page.size()).cols).toBeGreaterThan(50);
});

test("a hidden tab gets no previews until it is visible again", async () => {
  const { server, chromium } = stage();
  await using page = await chromium.open(`${server.url}/#/previews`);
  const subscriptions = async (): Promise<number> => {
    const clients = Clients.parse((await ask(server.url, "/api/clients")).json);
    return clients.flatMap((client) => client.subscriptions).length;
  };
  const become = async (visibility: "hidden" | "visible"): Promise<void> =>
    void (await page.page.evaluate(`{
      Object.defineProperty(document, "visibilityState", { value: "${visibility}", configurable: true });
      document.dispatchEvent(new Event("visibilitychange"));
    }`));
  const drawn = page.page.locator("canvas.drawn");
  await expect.poll(() => drawn.count()).toBeGreaterThan(0);
  await become("hidden");
  await expect.poll(subscriptions).toBe(0);
  expect(await drawn.count()).toBeGreaterThan(0);
  await become("visible");
  await expect.poll(subscriptions).toBeGreaterThan(0);
});

test("ending all shown sessions removes none that has ended while its request waited", async () => {
  const { server, chromium } = stage();
  const [id] = [
    await createSession(server, ["cat"], "bulk one"),
    await createSession(server, ["cat"], "bulk two"),
  ];
  await using page = await chromium.open(server.url);
  const status = async (): Promise<unknown> => (await ask(server.url, `/api/sessions/${id}`)).json.status;
  let isLimited = true;
  await page.page.route(`**/api/sessions/${id}*`, async (route) => {
    if (route.request().method() !== "DELETE" || !isLimited) return await route.continue();
    isLimited = false;
    // Ctrl+D
    await ask(server.url, `/api/sessions/${id}/input`, { body: { data: "BA==" } });
    await expect.poll(status).toBe("exited");
    const details = { retryAfterSeconds: 1 };
    await route.fulfill({ status: 429, json: { error: "too many requests", code: "rate_limited", details } });
  });
  await page.page.getByLabel("Filter sessions").fill("bulk");
  await page.button("End 2 sessions").click();
  const answered = page.page.waitForResponse(
    (response) => response.request().method() === "DELETE" && response.url().includes(id) && response.ok(),
  );
  await page.page.getByRole("dialog").getByRole("button", { name: "End" }).click();
  await answered;
  expect(await status()).toBe("exited");
});
