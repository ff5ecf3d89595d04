import { readFile } from "node:fs/promises";
import { expect, test } from "vitest";
import { ask } from "../harness/http.ts";
import { createSession } from "./page-server.ts";
import { useStage } from "./stage.ts";

const PHONE = { viewport: { width: 390, height: 844 }, isMobile: true, hasTouch: true };
/** Ctrl+D, in base64. */
const END_OF_INPUT = "BA==";
const stage = useStage({ flags: ["--no-auth", "--max-recording-size", "64KiB"] });

test("the exit code is shown with what it means", async () => {
  const { server, chromium } = stage();
  await using page = await chromium.open(server.url);
  await page.startShell();
  await page.enter("exit 7");
  await page.phase("ended");
  await page.page.getByText("Ended with code 7").waitFor();
  await page.page.getByText("The program ended with an error.").waitFor();
  await page.page.getByRole("navigation").getByText("exit 7").waitFor();
});

test("how a session ended is said below the last rows of its output, on a phone as well", async () => {
  const { server, chromium } = stage();
  await using page = await chromium.open(server.url);
  await page.startShell();
  await page.enter("seq 1 200; exit 3");
  await page.phase("ended");
  await page.shows("\n200\nexit\n");
  await using phone = await chromium.open(page.page.url(), PHONE);
  for (const window of [page, phone]) {
    const bar = window.page.getByText("Ended with code 3").locator("xpath=ancestor::*[@role='status']");
    const isAbove = async (): Promise<boolean> => {
      const screen = await window.page.locator(".xterm-screen").boundingBox();
      return bottomOf(screen) <= ((await bar.boundingBox())?.y ?? 0);
    };
    await expect.poll(isAbove).toBe(true);
    // The last rows are shown, not the first ones.
    await expect.poll(() => window.page.evaluate("ttyhq.shownText")).toContain("\n200\nexit");
  }
});

test("death by a signal is shown by its name", async () => {
  const { server, chromium } = stage();
  await using page = await chromium.open(server.url);
  await page.startShell();
  await page.enter("kill -SEGV $$");
  await page.phase("ended");
  await page.page.getByText("Ended by SIGSEGV").waitFor();
});

test("a session whose host was killed is said to be lost, at once and after a reload", async () => {
  const { server, chromium } = stage();
  await using page = await chromium.open(server.url);
  await page.startShell();
  await page.page.evaluate(`void (window.said = new Promise((done) => {
    const look = () => {
      const bar = document.querySelector(".ended-bar");
      if (bar === null) requestAnimationFrame(look);
      else done(bar.textContent);
    };
    look();
  }))`);
  await server.killHost();
  expect(await page.page.evaluate("said")).toContain("The session host ended");
  await page.page.getByRole("navigation").getByText("lost").waitFor();
  await page.page.reload();
  await page.page.getByText("The session host ended").waitFor();
});

test("a session is ended and removed, each after a question", async () => {
  const { server, chromium } = stage();
  await using page = await chromium.open(server.url);
  const id = await page.start("sleep 1000", { name: "to be ended" });
  await page.button("End").click();
  await page.button("Cancel").click();
  await page.phase("running");
  await page.button("End").click();
  await page.page.getByRole("dialog").getByRole("button", { name: "End" }).click();
  await page.phase("ended");
  await page.page.locator(".ended-bar.neutral").getByText("Ended on request").waitFor();
  expect(await page.page.locator(".row[aria-current] .badge.bad").count()).toBe(0);
  await page.button("Remove").click();
  await page.page.getByRole("dialog").getByRole("button", { name: "Remove" }).click();
  await page.page.getByRole("heading", { name: "Start a session" }).waitFor();
  expect((await ask(server.url, `/api/sessions/${id}`)).status).toBe(404);
  await expect.poll(() => page.page.getByText("to be ended").count()).toBe(0);
});

test("a confirmed End removes nothing if the program has ended while the question was open", async () => {
  const { server, chromium } = stage();
  await using page = await chromium.open(server.url);
  const id = await page.start("cat", { name: "precious" });
  await page.button("End").click();
  const question = page.page.getByRole("dialog");
  await question.getByText("End “precious”?").waitFor();
  await ask(server.url, `/api/sessions/${id}/input`, { body: { data: END_OF_INPUT } });
  await page.phase("ended");
  await page.page.locator(".session-tools [aria-label=Remove]").waitFor();
  const answered = page.page.waitForResponse((response) => response.request().method() === "DELETE");
  await question.locator(".danger").click();
  await answered;
  expect((await ask(server.url, `/api/sessions/${id}`)).json).toMatchObject({ status: "exited" });
  await page.phase("ended");
});

test("a command that cannot be run is refused in the form", async () => {
  const { server, chromium } = stage();
  await using page = await chromium.open(server.url);
  await page.page.getByLabel("Command").fill("no-such-program");
  await page.button("Start").click();
  await page.page.getByRole("alert").getByText("no-such-program").waitFor();
});

test("the list of every window follows what happens in another one", async () => {
  const { server, chromium } = stage();
  await using watching = await chromium.open(server.url);
  await watching.connection("open");
  await using acting = await chromium.open(server.url);
  const list = watching.page.getByRole("navigation");
  await acting.start("sleep 1000", { name: "made elsewhere" });
  await list.getByText("made elsewhere").waitFor();
  await acting.page.getByRole("button", { name: "made elsewhere" }).click();
  await acting.page.getByLabel("Name of the session").fill("renamed elsewhere");
  await acting.page.keyboard.press("Enter");
  await list.getByText("renamed elsewhere").waitFor();
  await acting.button("End").click();
  await acting.page.getByRole("dialog").getByRole("button", { name: "End" }).click();
  await list.getByText("ended", { exact: true }).first().waitFor();
  await acting.button("Remove").click();
  await acting.page.getByRole("dialog").getByRole("button", { name: "Remove" }).click();
  await list.getByText("renamed elsewhere").waitFor({ state: "detached" });
});

test("the session that is open is scrolled into view in the list, which shows long names whole on hover", async () => {
  const { server, chromium } = stage();
  const name = "a long name of which the list shows the beginning, like that of many another one";
  const id = await createSession(server, ["sleep", "1000"], `${name} 0`);
  for (const number of [1, 2, 3, 4]) await createSession(server, ["sleep", "1000"], `${name} ${number}`);
  await using page = await chromium.open(`${server.url}/#/s/${id}`, {
    viewport: { width: 900, height: 300 },
  });
  const row = page.page.getByRole("link", { name: `${name} 0` });
  await expect.poll(() => row.isVisible()).toBe(true);
  const list = page.page.getByRole("navigation");
  await expect
    .poll(async () => bottomOf(await row.boundingBox()))
    .toBeLessThanOrEqual(bottomOf(await list.boundingBox()));
  await list.getByTitle(`${name} 0`, { exact: true }).waitFor();
});

test("a bell in a hidden session is marked in the list until the session is opened", async () => {
  const { server, chromium } = stage();
  await using page = await chromium.open(server.url);
  const id = await page.start("until test -e /dev/null/x; do read -r line; printf '\\a'; done", {
    name: "bells",
  });
  await page.start("sleep 1000", { name: "quiet" });
  // Only a session of the list is marked.
  await page.page.getByRole("link", { name: "bells" }).waitFor();
  const input = { body: { text: "\r" } };
  expect((await ask(server.url, `/api/sessions/${id}/input`, input)).status).toBe(200);
  const mark = page.page.getByTitle("Bell", { exact: true });
  await mark.waitFor();
  await page.page.getByRole("link", { name: "bells" }).click();
  await mark.waitFor({ state: "detached" });
});

test("a server that is no HQ says nothing of machines", async () => {
  const { server, chromium } = stage();
  await using page = await chromium.open(server.url);
  await page.start("sleep 1000", { name: "of the server itself" });
  await page.page.getByRole("navigation").getByText("of the server itself").waitFor();
  await page.page.getByRole("link", { name: "New session" }).click();
  await page.page.getByRole("heading", { name: "Start a session" }).waitFor();
  expect(await page.page.getByText(/machine|remote/i).count()).toBe(0);
});

test("the view of machines at a server that is no HQ says so and asks for no remotes", async () => {
  const { server, chromium } = stage();
  await using page = await chromium.open(server.url);
  const asked: string[] = [];
  page.page.on("request", (request) => asked.push(new URL(request.url()).pathname));
  await page.page.evaluate("location.hash = '#/machines'");
  await page.page.getByText("This server is no HQ").waitFor();
  // By then the view has made its requests.
  await page.page.evaluate("fetch('/api/health').then((answer) => answer.text())");
  await page.page.evaluate("new Promise((resolve) => requestIdleCallback(resolve))");
  expect(asked).not.toContain("/api/remotes");
});

test("the address of a session opens it again, with what it shows", async () => {
  const { server, chromium } = stage();
  await using page = await chromium.open(server.url);
  await page.startShell();
  await page.enter("echo kept-$((1 + 1))");
  await page.shows("\nkept-2\n");
  await page.page.reload();
  await page.shows("\nkept-2\n");
  await page.enter("echo goes-on-$((2 + 2))");
  await page.shows("\ngoes-on-4\n");
});

test("the address of a session that is gone says so", async () => {
  const { server, chromium } = stage();
  await using page = await chromium.open(`${server.url}/#/s/never-was`);
  await page.page.getByText("Session not found").waitFor();
});

test("the recording is saved as an asciicast", async () => {
  const { server, chromium } = stage();
  await using page = await chromium.open(server.url);
  await page.startShell();
  await page.enter("echo recorded-$((1 + 1))");
  await page.shows("\nrecorded-2\n");
  await page.button("More").click();
  const [download] = await Promise.all([
    page.page.waitForEvent("download"),
    page.button("Download the recording").click(),
  ]);
  expect(download.suggestedFilename()).toMatch(/^shell-.+\.cast$/);
  const lines = (await readFile(await download.path(), "utf8")).trimEnd().split("\n");
  expect(JSON.parse(lines[0] ?? "")).toMatchObject({ version: 2 });
  expect(
    lines
      .slice(1)
      .map((line) => JSON.parse(line)[2])
      .join(""),
  ).toContain("recorded-2");
});

test("a recording that stops at its limit is marked in the head, and only then", async () => {
  const { server, chromium } = stage();
  await using page = await chromium.open(server.url);
  await page.startShell();
  const mark = page.page.getByRole("note", { name: "recording stopped" });
  expect(await mark.count()).toBe(0);
  await page.enter("head -c 100000 /dev/zero | tr '\\0' .; echo all-$((1 + 1))");
  await page.shows("all-2");
  await mark.waitFor();
  expect(await mark.getAttribute("title")).toContain("size limit");
});

function bottomOf(box: { readonly y: number; readonly height: number } | null): number {
  return box === null ? Number.POSITIVE_INFINITY : Math.floor(box.y + box.height);
}
