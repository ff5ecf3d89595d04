import { expect, test } from "vitest";
import { z } from "zod";
import { bestTime } from "../harness/best-time.ts";
import { Chromium } from "./chromium.ts";
import { useStage } from "./stage.ts";

const stage = useStage();
const Most = z.object({ parsing: z.number(), limit: z.number(), unparsed: z.number() });

test("10 MB of output leave their end unbroken, and the prompt answers afterwards", async () => {
  await using page = await stage().chromium.open(stage().server.url);
  await page.startShell();
  const last = 1_400_000;
  await page.enter(`seq 1 ${last}; echo all-$((1 + 1))`);
  await page.shows(`\n${last}\nall-2\n`);
  const numbers = (await page.text())
    .split("\n")
    .filter((line) => /^\d+$/.test(line))
    .map(Number);
  // On a machine that is too busy for the browser the page gets the screen with its scrollback, not a gap.
  expect(numbers.length).toBeGreaterThan(1_000);
  expect(numbers).toEqual(numbers.map((_, index) => last - numbers.length + 1 + index));
  await page.enter("echo still-$((2 + 2))");
  await page.shows("\nstill-4\n");
});

test("output without end does not keep the page from stopping it", async () => {
  const interruption = async (): Promise<number> => {
    await using page = await stage().chromium.open(stage().server.url);
    await page.startShell();
    await page.enter("yes $(seq 1 20 | tr '\\n' ' ')");
    await page.shows(/(\n1 2 3 4 5.*){1000}/);
    const before = performance.now();
    await page.interrupt();
    // A last piece of output may follow the echo of the key.
    await page.shows(/\^C[^^]*\nready> $/);
    const ms = performance.now() - before;
    await page.enter("echo back-$((3 + 3))");
    await page.shows("\nback-6\n");
    return ms;
  };
  // All output up to then is parsed or skipped: the live edge is never far.
  expect(await bestTime(10_000, interruption)).toBeLessThan(10_000);
});

test("the terminal gets at most 50 ms of output to parse at a time, and little waits in front of it", async () => {
  await using page = await stage().chromium.open(stage().server.url);
  await page.startShell();
  await page.page.evaluate(`void (window.most = { parsing: 0, limit: 0, unparsed: 0 }, setInterval(() => {
    most.parsing = Math.max(most.parsing, ttyhq.parsingBytes ?? 0);
    most.limit = Math.max(most.limit, ttyhq.parsingLimit ?? 0);
    most.unparsed = Math.max(most.unparsed, ttyhq.unparsedBytes ?? 0);
  }, 1))`);
  await page.enter("seq 1 800000; echo all-$((1 + 1))");
  await page.shows("\nall-2\n");
  const most = Most.parse(await page.page.evaluate("most"));
  expect(most.parsing).toBeGreaterThan(0);
  // The limit may have sunk since the current piece was accepted.
  expect(Math.max(most.parsing, most.limit)).toBeLessThanOrEqual(512 * 1024);
  expect(most.unparsed).toBeLessThan(3 * 1024 * 1024);
});

test("with a software renderer the terminal does not use WebGL", async () => {
  await using chromium = await Chromium.start({
    args: ["--use-angle=swiftshader", "--enable-unsafe-swiftshader"],
  });
  await using page = await chromium.open(stage().server.url);
  await page.startShell();
  const hasWebgl = await page.page.evaluate("document.createElement('canvas').getContext('webgl2') !== null");
  expect(hasWebgl).toBe(true);
  expect(await page.page.locator(".xterm-screen canvas").count()).toBe(0);
  await page.page.locator(".xterm-rows").getByText("ready>").waitFor();
});
