import { expect, test } from "vitest";
import { z } from "zod";
import { ask } from "../harness/http.ts";
import { createSession } from "./page-server.ts";
import { useStage } from "./stage.ts";

const stage = useStage();
const SESSIONS = 20;

const Clients = z.array(z.object({ subscriptions: z.array(z.string()) }));
const Metrics = z.object({ metrics: z.array(z.object({ name: z.string(), value: z.number() })) });

test("switching between 20 sessions leaves no terminals, sockets, subscriptions or listeners behind", async () => {
  const { server, chromium } = stage();
  const ids = await Promise.all(
    // With a cursor that the program makes blink.
    Array.from({ length: SESSIONS }, (_, number) =>
      createSession(server, ["sh", "-c", `printf '\\033[1 qsession-${number}\\n'; exec sleep 1000`], ""),
    ),
  );
  await using page = await chromium.open(server.url);
  await page.connection("open");
  let sockets = 0;
  page.page.on("websocket", () => {
    sockets += 1;
  });
  const devtools = await page.page.context().newCDPSession(page.page);
  await devtools.send("Performance.enable");
  const measure = async () => {
    await devtools.send("HeapProfiler.collectGarbage");
    const { metrics } = Metrics.parse(await devtools.send("Performance.getMetrics"));
    return (name: string): number => metrics.find((metric) => metric.name === name)?.value ?? Number.NaN;
  };
  const tour = async (): Promise<void> => {
    for (const [number, id] of ids.entries()) {
      await page.page.evaluate(`location.hash = "#/s/${id}"`);
      await page.shows(`session-${number}\n`);
      expect(await page.page.locator(".xterm").count()).toBe(1);
    }
    await page.page.evaluate(`location.hash = "#/"`);
    await page.page.getByRole("heading", { name: "Start a session" }).waitFor();
    expect(await page.page.locator(".xterm").count()).toBe(0);
  };
  // The first round creates lasting objects.
  await tour();
  const before = await measure();
  await tour();
  // A pending frame or timer holds the last terminal for a while.
  const left = (name: string) => expect.poll(async () => (await measure())(name) - before(name));
  await left("Nodes").toBeLessThan(100);
  await left("JSEventListeners").toBeLessThan(20);
  await left("JSHeapUsedSize").toBeLessThan(4 * 1024 * 1024);
  // The earlier one exists.
  expect(sockets).toBe(0);
  const subscribed = async () => {
    const clients = Clients.parse((await ask(server.url, "/api/clients")).json);
    return clients.map(({ subscriptions }) => subscriptions);
  };
  await expect.poll(subscribed).toEqual([[]]);
});
