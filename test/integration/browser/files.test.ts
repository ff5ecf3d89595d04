// Files that a person drops or pastes onto a session, selects for it, and downloads from it.
import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import { eventually } from "../../../packages/testing/src/wait.ts";
import type { PageDriver } from "./page-driver.ts";
import { useStage } from "./stage.ts";

const MAX_BYTES = 1_000_000;
const stage = useStage({
  flags: ["--no-auth", "--max-upload", `${MAX_BYTES}`],
});
const made = new AsyncDisposableStack();
afterAll(() => made.disposeAsync());

async function folder(): Promise<string> {
  const path = await mkdtemp(join(tmpdir(), "ttyhq-files-"));
  made.defer(() => rm(path, { recursive: true, force: true }));
  return path;
}

/** A session in the folder that shows the keys it receives. */
async function openSession(cwd: string): Promise<PageDriver> {
  const { server, chromium } = stage();
  const page = await chromium.open(server.url, { permissions: ["clipboard-read", "clipboard-write"] });
  await page.start(`sh -c "stty -echo; printf '\\033[?2004h'; echo ready; cat -v"`, { cwd });
  await page.shows("ready");
  return page;
}

/** Simulates the browser's events for dragged files of this machine. */
async function drag({ page }: PageDriver, paths: readonly string[], types: readonly string[]): Promise<void> {
  const browser = await page.context().newCDPSession(page);
  const box = await page.locator(".terminal-pane").boundingBox();
  if (box === null) throw new Error("there is no terminal");
  const at = { x: box.x + box.width / 2, y: box.y + box.height / 2 };
  const data = { items: [], files: [...paths], dragOperationsMask: 1 };
  for (const type of types) {
    await browser.send("Input.dispatchDragEvent", { type: type as "drop", ...at, data });
  }
  await browser.detach();
}

test("dropped files land in the session's directory one after another, and their quoted paths are pasted", async () => {
  const cwd = join(await folder(), "it's here");
  const from = await folder();
  await mkdir(cwd);
  await mkdir(join(from, "dir"));
  const names = ["one.txt", "two two.txt"];
  for (const name of names) await writeFile(join(from, name), name);
  await using page = await openSession(cwd);
  const paths = [...names, "dir"].map((name) => join(from, name));
  await drag(page, paths, ["dragEnter", "dragOver"]);
  await page.page.getByText("Drop files to send them to this session").waitFor();
  await drag(page, paths, ["drop"]);
  const quoted = names.map((name) => `'${cwd.replace("'", "'\\''")}/${name}' `);
  await page.page.getByText("dir was not sent: it is a folder").waitFor();
  await expect.poll(async () => (await readdir(cwd)).sort()).toEqual(names);
  expect(await readFile(join(cwd, "two two.txt"), "utf8")).toBe("two two.txt");
  // The terminal passes on whole lines: this ends one, as a person would.
  await page.page.getByLabel("Files being sent").waitFor({ state: "detached" });
  await page.page.keyboard.press("Enter");
  const lines = quoted.map((path) => `^[[200~${path}^[[201~`).join("");
  await page.shows(lines);
  expect(await page.page.getByText("Drop files").count()).toBe(0);
});

test("a pasted image is sent, and text with a picture of it stays text", async () => {
  const cwd = await folder();
  await using page = await openSession(cwd);
  await page.page.evaluate(`new Promise((resolve) => {
    const canvas = new OffscreenCanvas(8, 8);
    canvas.getContext("2d").fillRect(0, 0, 8, 8);
    resolve(canvas.convertToBlob());
  }).then((image) => navigator.clipboard.write([new ClipboardItem({ "image/png": image })]))`);
  await page.type("");
  await page.page.keyboard.press("Shift+Insert");
  await expect.poll(() => readdir(cwd)).toEqual(["image.png"]);
  const bytes = await readFile(join(cwd, "image.png"));
  expect(bytes.subarray(1, 4).toString()).toBe("PNG");
  // Its path is pasted when the page has the answer.
  await page.page.getByLabel("Files being sent").waitFor({ state: "detached" });
  await page.page.keyboard.press("Enter");
  await page.shows(`^[[200~${join(cwd, "image.png")} ^[[201~`);
  await page.page.evaluate(`{
    const clipboardData = new DataTransfer();
    clipboardData.setData("text/plain", "cells");
    clipboardData.setData("text/html", "<b>cells</b>");
    clipboardData.items.add(new File(["x"], "cells.png", { type: "image/png" }));
    const paste = new ClipboardEvent("paste", { clipboardData, bubbles: true, cancelable: true });
    document.querySelector(".xterm-helper-textarea").dispatchEvent(paste);
  }`);
  await page.page.keyboard.press("Enter");
  await page.shows("^[[200~cells^[[201~");
  expect(await readdir(cwd)).toEqual(["image.png"]);
});

test("a file that is chosen shows its progress and can be cancelled, and one that is too large is named", async () => {
  const cwd = await folder();
  const from = await folder();
  await writeFile(join(from, "slow.bin"), new Uint8Array(MAX_BYTES));
  await writeFile(join(from, "huge.bin"), new Uint8Array(MAX_BYTES + 1));
  await using page = await openSession(cwd);
  const choose = async (name: string): Promise<void> => {
    await page.button("More").click();
    const chooser = page.page.waitForEvent("filechooser");
    await page.button("Send a file…").click();
    await (await chooser).setFiles(join(from, name));
  };
  const browser = await page.page.context().newCDPSession(page.page);
  const slow = { offline: false, latency: 0, downloadThroughput: -1, uploadThroughput: 20_000 };
  await browser.send("Network.emulateNetworkConditions", slow);
  await choose("slow.bin");
  const progress = page.page.getByRole("progressbar", { name: "Sending slow.bin" });
  await expect.poll(() => progress.evaluate((bar) => Number(bar.getAttribute("value")))).toBeGreaterThan(0);
  await page.button("Cancel slow.bin").click();
  await progress.waitFor({ state: "detached" });
  await page.page.keyboard.type("typed on\n");
  await page.shows("\ntyped on\n");
  await eventually(async () => (await readdir(cwd)).length === 0 || undefined, "an empty folder");
  await browser.send("Network.emulateNetworkConditions", { ...slow, uploadThroughput: -1 });
  await choose("huge.bin");
  await page.page.getByText("huge.bin was not sent: huge.bin is too large").waitFor();
});

test("a file is downloaded by its path, a path without a file is named, and the terminal has the keys again", async () => {
  const cwd = await folder();
  await writeFile(join(cwd, "report.html"), "<script>alert(1)</script>");
  await using page = await openSession(cwd);
  await page.button("More").click();
  await page.button("Download a file…").click();
  const path = page.page.getByRole("textbox", { name: "Path" });
  await path.fill("none");
  await path.press("Enter");
  await page.page.getByText(`There is no file ${join(cwd, "none")}.`).waitFor();
  await path.fill("report.html");
  const download = page.page.waitForEvent("download");
  await path.press("Enter");
  const file = await download;
  expect(file.suggestedFilename()).toBe("report.html");
  expect(await readFile(await file.path(), "utf8")).toBe("<script>alert(1)</script>");
  await page.page.getByRole("dialog").waitFor({ state: "detached" });
  await page.page.keyboard.type("typed after");
  await page.page.keyboard.press("Enter");
  await page.shows("typed after");
});
