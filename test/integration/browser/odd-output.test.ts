// Output that xterm.js alone handles badly: the server's screens have the same guards.
import { expect, test } from "vitest";
import { useStage } from "./stage.ts";

const stage = useStage();

test("a character whose bytes come one by one is shown whole", async () => {
  await using page = await stage().chromium.open(stage().server.url);
  await page.startShell();
  // 0x80 is the second byte of the one and the third of the other.
  const bytes = [..."’🀄"].flatMap((character) => [...new TextEncoder().encode(character)]);
  const prints = bytes.map((byte) => `read -r; printf '\\x${byte.toString(16)}'; `).join("");
  // Echo stays off, because a key may arrive between two of the programs.
  await page.enter(`stty -echo; echo set-$((1 + 1)); read -r; printf 'go\\n:'; ${prints}printf '<%s\\n' end`);
  // Input while the shell still edits its line is no line for later programs.
  await page.shows("\nset-2\n");
  await page.page.keyboard.press("Enter");
  await page.shows("\ngo\n:");
  const start = await page.received();
  for (const at of bytes.keys()) {
    await page.page.keyboard.press("Enter");
    if (at < bytes.length - 1) await expect.poll(() => page.received()).toBe(start + at + 1);
  }
  await page.shows("\n:’🀄<end\n");
});

test("sequences with numbers beyond all reason do not stop the terminal", async () => {
  await using page = await stage().chromium.open(stage().server.url);
  await page.startShell();
  const most = 2 ** 31 - 1;
  const sequences = ["L", "M", "S", "T", "I", "Z"].map((final) => `\\e[${most}${final}`).join("");
  await page.enter(`printf '${sequences}x\\e[${most}b\\e[H\\e[2Jdone-%s\\n' 1`);
  await page.shows(/\ndone-1\n/);
});

test("a screen that is erased up to its last cell does not stop the terminal", async () => {
  await using page = await stage().chromium.open(stage().server.url);
  const failures: string[] = [];
  page.page.on("pageerror", (error) => failures.push(error.message));
  await page.startShell();
  for (const [number, erase] of ["\\e[1J", "\\e[?1J"].entries()) {
    await page.enter(`clear; printf 'x\\e[999;999H${erase}\\e[Hempty-%s\\n' ${number}`);
    await page.shows(new RegExp(`^empty-${number}\n`));
  }
  expect(failures).toEqual([]);
});
