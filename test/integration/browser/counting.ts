// A program in the page's terminal whose output reveals missing parts.
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect } from "vitest";
import type { PageDriver } from "./page-driver.ts";

/**
 * Starts a program that counts until a file `stop` exists in that folder, prints a last line, and echoes its input.
 * Each number is a software-rendered frame.
 */
export async function startCounting(page: PageDriver, cwd: string): Promise<void> {
  const count = "i=0; until test -e stop; do i=$((i + 1)); echo line-$i; sleep 0.05; done; echo counted; cat";
  await page.start(count, { cwd });
  await page.shows("\nline-10\n");
}

/** Resolves when the terminal shows twenty more numbers. */
export async function goesOn(page: PageDriver): Promise<void> {
  const numbers = [...(await page.text()).matchAll(/^line-(\d+)\n/gm)];
  const seen = Number(numbers.at(-1)?.[1]);
  await page.shows(`\nline-${seen + 20}\n`);
}

/** Ends the counting, checks that every number appears once, and returns the terminal's content. */
export async function countedText(page: PageDriver, cwd: string): Promise<string> {
  await writeFile(join(cwd, "stop"), "");
  // A number between its letters would be in their line.
  await page.shows("\ncounted\n");
  await page.enter("the end");
  await page.shows("\nthe end\nthe end\n");
  const text = await page.text();
  const numbers = [...text.matchAll(/^line-(\d+)$/gm)].map((match) => Number(match[1]));
  expect(numbers).toEqual(numbers.map((_, index) => index + 1));
  return text;
}
