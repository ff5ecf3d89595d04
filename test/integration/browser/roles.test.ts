// The page offers exactly the actions of its user's role.
import { afterAll, beforeAll, expect, test } from "vitest";
import { SystemUser } from "../auth/system-user.ts";
import { knownToken } from "../harness/known-logins.ts";
import { People, Person } from "../harness/people.ts";
import type { TestServer } from "../harness/test-server.ts";
import { Chromium } from "./chromium.ts";
import type { PageDriver } from "./page-driver.ts";

/** Elements that only permitted roles see, by name. */
const OFFERS = [
  "New session on local",
  "Remove all",
  "End",
  "shared desk (click to rename)",
  "SIGTERM",
  "Share…",
];
const isRoot = process.getuid?.() === 0;
const scope = new AsyncDisposableStack();

let people: People;
let server: TestServer;
let chromium: Chromium;
/** On a session of `people.one`. */
let id: string;
let viewer: string;

beforeAll(async () => {
  people = scope.use(await People.make());
  viewer = isRoot ? scope.use(await SystemUser.make()).name : "viewer";
  const roles = [
    "--role",
    `${people.one}=user`,
    "--role",
    `${people.other}=auditor`,
    "--role",
    `${viewer}=viewer`,
  ];
  const args = ["--hq", "--hq-sessions", "--no-hq-auth", ...roles];
  server = scope.use(await people.server({ args, others: [viewer] }));
  chromium = scope.use(await Chromium.ofProcess());
  const owner = Person.named(server, people.one);
  const remoteId = (await owner.ask("/api/remotes")).json[0]?.id ?? "local";
  await owner.start({ command: ["true"], cwd: "/", remoteId });
  ({ id } = await owner.start({
    command: ["sh", "-c", "echo shown; cat"],
    cwd: "/",
    name: "shared desk",
    remoteId,
  }));
});
afterAll(() => scope.disposeAsync());

/** A page of a logged-in user. */
function openAs(user: string, path = ""): Promise<PageDriver> {
  const login = { token: knownToken(user), user, expiresAt: Date.now() + 3_600_000 };
  const localStorage = [{ name: "ttyhq.login", value: JSON.stringify(login) }];
  const storageState = { cookies: [], origins: [{ origin: server.url, localStorage }] };
  return chromium.open(`${server.url}/${path}`, { storageState });
}

/** Waits until exactly these are offered in the list, at a session and in its menu: the list updates by itself. */
async function offers(driver: PageDriver, names: readonly string[]): Promise<void> {
  await driver.button("More").click();
  await driver.page.getByText("Download the recording").waitFor();
  const offered = async (): Promise<readonly string[]> => {
    const there: string[] = [];
    for (const name of OFFERS) {
      const named = driver.page.getByText(name, { exact: true });
      const titled = driver.page.getByTitle(name, { exact: true });
      if ((await named.or(titled).count()) > 0) there.push(name);
    }
    return there;
  };
  await expect.poll(offered).toEqual(names);
  await driver.button("More").click();
}

test("a user is offered everything about their own sessions, and no machines", async () => {
  await using driver = await openAs(people.one, `#/s/${id}`);
  await driver.shows("shown");
  await driver.phase("running");
  await offers(driver, OFFERS);
  await driver.enter("typed");
  await driver.shows("typed\ntyped");
  await driver.page.getByRole("link", { name: "New session", exact: true }).click();
  await driver.button("Start").waitFor();
  expect(await driver.page.getByText("Add a machine").count()).toBe(0);
});

test("an auditor watches everybody's sessions, and is offered nothing else", async () => {
  await using driver = await openAs(people.other, `#/s/${id}`);
  await driver.shows("shown");
  await driver.phase("watching");
  await driver.page.getByText("to watch", { exact: true }).waitFor();
  await driver.page.getByRole("navigation").getByText("shared desk").waitFor();
  await offers(driver, []);
  const before = await driver.text();
  await driver.enter("by the auditor");
  await driver.page.goto(`${server.url}/#/new`);
  await driver.page.getByText("Your role does not start any").waitFor();
  expect([before, await driver.button("Start").count()]).toEqual([expect.not.stringContaining("auditor"), 0]);
});

test("a viewer without sessions is told so, and is offered none", async () => {
  await using driver = await openAs(viewer);
  await driver.page.getByText("Your role does not start any").waitFor();
  expect(await driver.page.getByText(/New session|Add/).count()).toBe(0);
  expect(await driver.page.getByText("shared desk").count()).toBe(0);
});

test("an admin is offered machines as well", async () => {
  await using driver = await openAs(people.admin, "#/new");
  await driver.button("Start").waitFor();
  await driver.page.getByText("Add a machine").waitFor();
});
