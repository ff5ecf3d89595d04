// The page on an HQ.
import { afterAll, beforeAll, expect, test } from "vitest";
import { eventually } from "../../../packages/testing/src/wait.ts";
import { decodeFrame, FrameType } from "../../../src/protocol/frame/frame.ts";
import { NewShare } from "../../../src/protocol/schemas/share.ts";
import { TestFleet } from "../harness/test-fleet.ts";
import { TestServer } from "../harness/test-server.ts";
import { Chromium } from "./chromium.ts";
import { countedText, goesOn, startCounting } from "./counting.ts";
import type { PageDriver } from "./page-driver.ts";

const scope = new AsyncDisposableStack();
let chromium: Chromium;
beforeAll(async () => {
  chromium = scope.use(await Chromium.ofProcess());
});
afterAll(() => scope.disposeAsync());

/** An HQ with these machines, and its page listing all of them. */
async function open(...names: readonly string[]) {
  const fleet = await TestFleet.start({ asProcess: true, remotes: 0 });
  const page = await chromium.open(fleet.hq.url);
  for (const name of names) {
    await fleet.add(name);
    await machine(page, name).waitFor();
  }
  const end = async (): Promise<void> => {
    await page[Symbol.asyncDispose]();
    await fleet[Symbol.asyncDispose]();
  };
  return { fleet, page, [Symbol.asyncDispose]: end };
}

/** A machine with its sessions in the list. */
function machine({ page }: PageDriver, name: string) {
  return page.getByRole("region", { name, exact: true });
}

function state(page: PageDriver, name: string, words: "online" | "offline") {
  return machine(page, name).getByText(words, { exact: true });
}

/** Resolves at the first ERROR about the session, on any connection that the page opens from now on. */
function refusal({ page }: PageDriver, id: string): Promise<void> {
  return new Promise((resolve) => {
    const check = ({ payload }: { readonly payload: string | Uint8Array }): void => {
      if (!(payload instanceof Uint8Array)) return;
      const { type, sessionId } = decodeFrame(payload);
      if (type === FrameType.ERROR && sessionId === id) resolve();
    };
    page.on("websocket", (socket) => socket.on("framereceived", check));
  });
}

function outage(page: PageDriver, name: string) {
  return page.page.getByText(
    `${name} is offline. The session keeps running; you are reconnected when the machine is back online.`,
  );
}

test("an HQ without machines says how to add one, and that command makes one join", async () => {
  await using stage = await open();
  const { page } = stage;
  await page.page.getByText("No machine has joined yet.").waitFor();
  const command = (await page.page.locator(".command pre").textContent()) ?? "";
  const [program, serve, ...args] = command.split(/[\s\\]+/);
  expect([program, serve]).toEqual(["ttyhq", "serve"]);
  await using _machine = await TestServer.start({
    asProcess: true,
    args: ["--no-auth", ...args, "--name", "newcomer"],
  });
  await machine(page, "newcomer").waitFor();
  // A single machine needs no choice.
  await page.start("sleep 1000", { name: "its session" });
  await machine(page, "newcomer").getByText("its session").waitFor();
});

test("sessions stand under their machines, and a new one runs on the machine that was chosen last", async () => {
  await using stage = await open("web", "build");
  const { page, fleet } = stage;
  // With several machines none is preselected.
  const field = page.page.locator("select[name='machine']");
  expect(await field.inputValue()).toBe("");
  await page.start("sleep 1000", { name: "first", machine: "build" });
  await page.page.reload();
  // Before the page knows of machines the form has no choice.
  await machine(page, "build").waitFor();
  await page.start("sleep 1000", { name: "second" });
  await page.page.getByRole("link", { name: "New session", exact: true }).click();
  await field.selectOption({ label: "web" });
  await page.start("sleep 1000", { name: "third" });
  await machine(page, "web").getByText("third").waitFor();
  for (const name of ["first", "second"]) await machine(page, "build").getByText(name).waitFor();
  expect(await page.page.locator(".session-machine").textContent()).toBe("web");
  const places = (await fleet.sessions()).map(({ name, remoteName }) => `${name} on ${remoteName}`);
  expect(places.sort()).toEqual(["first on build", "second on build", "third on web"]);
});

test("an HQ with sessions of its own has them first, as local", async () => {
  await using fleet = await TestFleet.start({ asProcess: true, remotes: 1, hqArgs: ["--hq-sessions"] });
  await using page = await chromium.open(fleet.hq.url);
  await machine(page, "worker-1").waitFor();
  await page.start("sleep 1000", { name: "at home", machine: "local" });
  await machine(page, "local").getByText("at home").waitFor();
  expect(await page.page.getByRole("heading", { level: 2 }).allTextContents()).toEqual(["local", "worker-1"]);
});

test("a guest whose link is opened while the machine is away is told so, and sees the session when it is back", async () => {
  await using fleet = await TestFleet.start({ asProcess: true, isGuarded: true });
  const { id } = await fleet.create("worker-1", { command: ["sh", "-c", "echo here; cat"] });
  const share = NewShare.parse((await fleet.ask(`/api/sessions/${id}/share`, { body: {} })).json);
  await fleet.remote("worker-1").kill("SIGTERM");
  await eventually(async () => (await fleet.remotes()).length === 0 || undefined, "the remote's departure");
  await using guest = await chromium.open(share.url);
  await guest.page.getByText("Its machine is offline").waitFor();
  await fleet.remote("worker-1").restart();
  await guest.phase("watching");
  await guest.shows("here\n");
});

test("the form of a new session keeps its fields while the only machine is away", async () => {
  await using stage = await open("solo");
  const { page, fleet } = stage;
  await page.page.getByLabel("Command").fill("sleep 1000");
  await page.page.getByLabel("Name", { exact: true }).fill("patient");
  await fleet.remote("solo").kill("SIGTERM");
  await state(page, "solo", "offline").waitFor();
  const field = page.page.locator("select[name='machine']");
  await expect.poll(() => field.inputValue()).toBe("");
  await fleet.remote("solo").restart();
  await state(page, "solo", "online").waitFor({ state: "attached" });
  await expect.poll(() => field.inputValue()).not.toBe("");
  await page.button("Start").click();
  await machine(page, "solo").getByText("patient").waitFor();
});

test("a session goes on at the byte when its machine is back, and nothing typed meanwhile arrives", async () => {
  await using stage = await open("fragile");
  const { page, fleet } = stage;
  const { controlDir: cwd } = fleet.remote("fragile");
  await startCounting(page, cwd);
  await fleet.remote("fragile").kill();
  await state(page, "fragile", "offline").waitFor();
  await outage(page, "fragile").waitFor();
  expect(await page.page.getByText("What you type is not sent.").count()).toBe(0);
  await page.type("lost");
  await page.page.getByText("What you type is not sent.").waitFor();
  // It stays readable and keeps its name.
  expect(await page.text()).toContain("\nline-10\n");
  expect(await page.page.locator(".session-machine").textContent()).toBe("fragile");
  await fleet.remote("fragile").restart();
  await outage(page, "fragile").waitFor({ state: "detached" });
  await state(page, "fragile", "online").waitFor({ state: "attached" });
  await goesOn(page);
  expect(await countedText(page, cwd)).not.toContain("lost");
});

test("input before the HQ has noticed a machine's absence is refused, too", async () => {
  await using stage = await open("sudden");
  const { page, fleet } = stage;
  await page.startShell();
  // Its subscription is answered: a pending answer of the machine would delay input.
  await page.enter("echo here-$((1 + 1))");
  await page.shows("\nhere-2\n");
  await fleet.remote("sudden").kill();
  await page.type("l");
  await outage(page, "sudden").waitFor();
  await page.page.getByText("What you type is not sent.").waitFor();
  await fleet.remote("sudden").restart();
  await outage(page, "sudden").waitFor({ state: "detached" });
  await page.enter("echo back-$((1 + 1))");
  await page.shows(/\nready> echo back-\$\(\(1 \+ 1\)\)\nback-2\n/);
});

test("a session has the size of a window that was resized before the HQ noticed that the machine is gone", async () => {
  await using stage = await open("squeezed");
  const { page, fleet } = stage;
  const id = await page.startShell();
  const refused = refusal(page, id);
  await page.page.reload();
  await page.shows("ready> ");
  const before = await page.size();
  await fleet.remote("squeezed").kill();
  await page.page.setViewportSize({ width: 800, height: 500 });
  await refused;
  await fleet.remote("squeezed").restart();
  await expect.poll(async () => (await page.size()).cols).toBeLessThan(before.cols);
});

test("a session that is opened while its machine is away opens when that is back", async () => {
  await using stage = await open("absent");
  const { page, fleet } = stage;
  const id = await page.startShell();
  await page.enter("echo kept-$((1 + 1))");
  await page.shows("\nkept-2\n");
  await page.page.evaluate(`location.hash = "#/"`);
  await fleet.remote("absent").kill("SIGTERM");
  await state(page, "absent", "offline").waitFor();
  await machine(page, "absent").getByText("shell").click();
  await outage(page, "absent").waitFor();
  // A window that never knew that machine.
  await using other = await chromium.open(`${fleet.hq.url}/#/s/${id}`);
  await outage(other, "The machine").waitFor();
  await fleet.remote("absent").restart();
  for (const window of [page, other]) {
    await window.shows("\nkept-2\n");
    await window.phase("running");
    await window.page.locator(".banner").waitFor({ state: "detached" });
  }
  await page.enter("echo again-$((2 + 2))");
  await page.shows("\nagain-4\n");
});

const TOLD_WITHIN_MS = 8_000;

test("a machine that is gone is hidden on request, and what it cannot do is told in plain words", async () => {
  await using stage = await open("retired");
  const { page, fleet } = stage;
  await page.start("sleep 1000", { name: "orphan" });
  await fleet.remote("retired").kill("SIGTERM");
  // Like a person: repeats until the page reports it.
  await eventually(async () => {
    await page.page.keyboard.press("Escape");
    await page.button("End").click();
    await page.page.getByRole("dialog").getByRole("button", { name: "End" }).click();
    const told = page.page.getByText("The session was not ended. The machine is offline.");
    return await told.waitFor({ timeout: TOLD_WITHIN_MS }).then(
      () => true,
      () => undefined,
    );
  }, "the refusal in plain words");
  await page.button("Hide retired").click();
  await machine(page, "retired").waitFor({ state: "detached" });
  await fleet.remote("retired").restart();
  await machine(page, "retired").getByText("orphan").waitFor();
});
