// A program in the page's terminal whose output shows whether any of it is missing.
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect } from "vitest";
import type { PageDriver } from "./page-driver.ts";

/** Starts a program that counts until there is a file `stop` in that folder, says so, and gives back what is typed. Each number is a frame that is drawn in software. */
export async function startCounting(page: PageDriver, cwd: string): Promise<void> {
  const count = "i=0; until test -e stop; do i=$((i + 1)); echo line-$i; sleep 0.05; done; echo counted; cat";
  await page.start(count, { cwd });
  await page.shows("\nline-10\n");
}

/** Resolves when twenty numbers more are there than now. */
export async function goesOn(page: PageDriver): Promise<void> {
  const numbers = [...(await page.text()).matchAll(/^line-(\d+)\n/gm)];
  const seen = Number(numbers.at(-1)?.[1]);
  await page.shows(`\nline-${seen + 20}\n`);
}

/** Ends the counting, checks that every number is there once, and returns what the terminal shows. */
export async function countedText(page: PageDriver, cwd: string): Promise<string> {
  await writeFile(join(cwd, "stop"), "");
  // A number that came between its letters would be in their line.
  await page.shows("\ncounted\n");
  await page.enter("the end");
  await page.shows("\nthe end\nthe end\n");
  const text = await page.text();
  const numbers = [...text.matchAll(/^line-(\d+)$/gm)].map((match) => Number(match[1]));
  expect(numbers).toEqual(numbers.map((_, index) => index + 1));
  return text;
}
