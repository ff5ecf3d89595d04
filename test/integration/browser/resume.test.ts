import { access, mkdtempDisposable, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { bestTime } from "../harness/best-time.ts";
import { ask } from "../harness/http.ts";
import { countedText, goesOn, startCounting } from "./counting.ts";
import { createSession } from "./page-server.ts";
import { useStage } from "./stage.ts";

const stage = useStage({ asProcess: true });

test("after the server was killed the terminal continues at the byte, and input of the meantime does not arrive", async () => {
  const { server, chromium } = stage();
  await using folder = await mkdtempDisposable(join(tmpdir(), "ttyhq-page-"));
  await using page = await chromium.open(server.url);
  await startCounting(page, folder.path);
  await server.kill();
  await page.connection("waiting");
  await page.page.getByText("No connection.").waitFor();
  // Screen readers announce each change of a status, and none of the countdown.
  expect(await page.page.getByRole("status").filter({ hasText: "No connection." }).innerText()).toBe(
    "No connection.",
  );
  await page.page
    .locator(".banner")
    .getByText(/^Retrying/)
    .waitFor();
  await page.type("lost");
  await page.page.getByText("What you type is not sent.").waitFor();
  // Its content stays readable.
  expect(await page.text()).toContain("\nline-10\n");
  await server.restart();
  await page.connection("open");
  await page.page.getByText("No connection.").waitFor({ state: "detached" });
  await goesOn(page);
  expect(await countedText(page, folder.path)).not.toContain("lost");
});

test("a restart in good order shows nothing for a while, and the terminal goes on at the byte", async () => {
  const { server, chromium } = stage();
  await using folder = await mkdtempDisposable(join(tmpdir(), "ttyhq-page-"));
  await using page = await chromium.open(server.url);
  await startCounting(page, folder.path);
  // The time when the connection was lost, and when the page reported it, by the page's clock.
  await page.page.evaluate(`void (window.quiet = new Promise((done) => {
    let gone;
    const look = () => {
      const isOpen = ttyhq.connection === "open";
      if (!isOpen) gone ??= performance.now();
      if (document.querySelector(".banner") !== null) done(performance.now() - gone);
      else if (gone !== undefined && isOpen) done("nothing");
      else requestAnimationFrame(look);
    };
    look();
  }))`);
  await server.kill("SIGTERM");
  await server.restart();
  await page.connection("open");
  await goesOn(page);
  const said = await page.page.evaluate("quiet");
  if (said !== "nothing") expect(said).toBeGreaterThan(1_000);
  await countedText(page, folder.path);
});

test("a server that stops answering is noticed within 5 s, and earlier input is shown as pending", async () => {
  const { server, chromium } = stage();
  await using page = await chromium.open(server.url);
  await page.startShell();
  await page.enter("echo here-$((1 + 1))");
  await page.shows("\nhere-2\n");
  const notice = async (): Promise<number> => {
    const pending = page.page.getByText("what you typed may not have arrived");
    let tookMs: number;
    {
      using _frozen = server.freeze();
      // Only timers of the page: the test's own may be late.
      const noticed = page.page.evaluate(`new Promise((done) => {
        const from = performance.now();
        const look = () => {
          if (ttyhq.connection === "open") setTimeout(look, 20);
          else done(performance.now() - from);
        };
        look();
      })`);
      await page.type("x");
      await pending.waitFor();
      tookMs = Number(await noticed);
      await page.page.getByRole("img", { name: "not connected" }).waitFor();
    }
    await page.connection("open");
    await pending.waitFor({ state: "detached" });
    return tookMs;
  };
  expect(await bestTime(5_000, notice)).toBeLessThan(5_000);
});

test("an offline device is reported at once, and the page continues when it is back", async () => {
  const { server, chromium } = stage();
  await using page = await chromium.open(server.url);
  await page.startShell();
  const notice = page.page.getByText("This device is offline.");
  const told = async (): Promise<number> => {
    const from = performance.now();
    await page.page.context().setOffline(true);
    await notice.waitFor();
    const tookMs = performance.now() - from;
    await page.page.context().setOffline(false);
    await page.connection("open");
    await notice.waitFor({ state: "detached" });
    return tookMs;
  };
  expect(await bestTime(2_000, told)).toBeLessThan(2_000);
  await page.enter("echo back-$((1 + 1))");
  await page.shows("\nback-2\n");
});

test("after the press of the button that connects at once, keys go to the terminal", async () => {
  const { server, chromium } = stage();
  await using page = await chromium.open(server.url);
  await page.startShell();
  await page.page.context().setOffline(true);
  await page.button("Try now").click();
  await page.page.context().setOffline(false);
  await page.connection("open");
  await page.page.keyboard.type("echo back-$((1 + 1))\n");
  await page.shows("\nback-2\n");
});

test("a session that ended while the server was away shows how it ended", async () => {
  const { server, chromium } = stage();
  await using folder = await mkdtempDisposable(join(tmpdir(), "ttyhq-page-"));
  await using page = await chromium.open(server.url);
  await page.start("echo waiting; until test -e go; do sleep 0.05; done; echo over; exit 5", {
    cwd: folder.path,
  });
  await page.shows("waiting");
  await server.kill();
  await page.connection("waiting");
  await writeFile(join(folder.path, "go"), "");
  await server.restart();
  await page.phase("ended");
  await page.shows(/^waiting\nover\n/);
  await page.page.getByText("Ended with code 5").waitFor();
});

test("a program's queries during an outage are not answered afterwards", async () => {
  const { server, chromium } = stage();
  await using folder = await mkdtempDisposable(join(tmpdir(), "ttyhq-page-"));
  const [go, asked] = [join(folder.path, "go"), join(folder.path, "asked")];
  await using page = await chromium.open(server.url);
  await page.startShell();
  await page.enter(`echo go; until test -e ${go}; do sleep 0.05; done; printf '\\e[c\\e[6n'; touch ${asked}`);
  await page.shows("\ngo\n");
  await server.kill();
  await page.connection("waiting");
  await writeFile(go, "");
  await expect.poll(() => access(asked).then(() => true)).toBe(true);
  await server.restart();
  await page.connection("open");
  await page.enter("echo clean-$((1 + 1))");
  await page.shows(/\nready> echo clean-\$\(\(1 \+ 1\)\)\nclean-2\n/);
});

test("a program's queries are answered after the server was away while the page opened the session", async () => {
  const { server, chromium } = stage();
  await using folder = await mkdtempDisposable(join(tmpdir(), "ttyhq-page-"));
  const go = join(folder.path, "go");
  const program = `until test -e ${go}; do sleep 0.05; done; stty raw -echo; printf '\\033[6n'; head -c 6 >/dev/null; stty sane; echo; echo answered`;
  const id = await createSession(server, ["sh", "-c", program], "asks");
  await using page = await chromium.open("about:blank");
  const permitted = Promise.withResolvers<void>();
  await page.page.route("**/api/auth/verify", async (route) => {
    await permitted.promise;
    await route.continue();
  });
  await page.page.goto(`${server.url}/#/s/${id}`);
  const viewers = async (): Promise<unknown> => (await ask(server.url, `/api/sessions/${id}`)).json.viewers;
  await expect.poll(viewers).toBe(1);
  await page.connection("open");
  await server.kill();
  await page.connection("waiting");
  await server.restart();
  await page.connection("open");
  permitted.resolve();
  await page.phase("running");
  await writeFile(go, "");
  await page.shows("\nanswered");
});
