// A VibeTunnel v3 client of an HQ, for sessions of another machine: it works unchanged.
import { afterAll, beforeAll, expect, test } from "vitest";
import { z } from "zod";
import { Cluster } from "../../../packages/testing/src/cluster.ts";
import { eventually } from "../../../packages/testing/src/wait.ts";
import { builtImage } from "../containers/built-image.ts";
import { BUILD_TIMEOUT_MS } from "../containers/docker.ts";
import { ask } from "../harness/http.ts";
import { oldScreenText, VibeTunnelClient } from "../harness/vibetunnel-client.ts";

/** The subscriptions of the official clients: the web's terminal, its previews, its global channel, and iOS. */
const WEB = 5;
const PREVIEW = 2;
const GLOBAL = 4;
const IOS = 6;

let cluster: Cluster;
beforeAll(async () => {
  await builtImage();
  cluster = await Cluster.start({ remotes: ["box"] });
}, BUILD_TIMEOUT_MS);
afterAll(() => cluster[Symbol.asyncDispose]());

/** A user who is logged in to the HQ and uses its one machine. */
type User = { readonly hqUrl: string; readonly token: string; readonly remoteId: string | undefined };

/** Like the web's login page. */
async function logIn(): Promise<User> {
  const { hq, remotes, login } = cluster;
  const body = { userId: login.username, password: login.password };
  const { json } = await ask(hq.url, "/api/auth/password", { body });
  return {
    hqUrl: hq.url,
    token: z.string().parse(json.token),
    remoteId: (await remotes[0]?.health())?.remoteId,
  };
}

/** Like the web client on another machine: the folder as workingDir; the answer has a sessionId. */
async function start({ hqUrl, token, remoteId }: User, script: string, more: object = {}): Promise<string> {
  const body = { command: ["sh", "-c", script], workingDir: "/tmp", remoteId, ...more };
  const headers = { authorization: `Bearer ${token}` };
  const { json } = await ask(hqUrl, "/api/sessions", { body, headers });
  return z.string().parse(json.sessionId);
}

function open({ hqUrl, token }: User): Promise<VibeTunnelClient> {
  return VibeTunnelClient.open(hqUrl, token);
}

test.concurrent("the web's terminal gets the header, the history and what is live, types, presses keys and sees the exit", async () => {
  const user = await logIn();
  const id = await start(user, "stty -echo -icrnl; printf 'before \\342\\202\\254\\n'; head -c 9; exit 3");
  await using early = await open(user);
  early.subscribe(id, WEB);
  await early.until(() => early.text(id).includes("before €\r\n"));
  await using client = await open(user);
  client.subscribe(id, WEB);
  await client.until(() => client.text(id) === "before €\r\n");
  const header = { version: 2, width: 80, height: 24 };
  expect(client.events(id)[0]).toMatchObject({ kind: "header", header });
  client.type(id, "héy\n");
  client.press(id, "enter");
  client.press(id, "arrow_up");
  client.type(id, "\n");
  await client.until(() => client.exitCode(id) !== undefined);
  expect(client.exitCode(id)).toBe(3);
  expect(client.text(id)).toBe("before €\r\nhéy\r\n\r\x1b[A");
  expect(client.frames.at(-1)?.type).toBe(22);
  expect(client.dropped).toBeLessThanOrEqual(1);
});

test.concurrent("the web's terminal is resized, and the program with it", async () => {
  const user = await logIn();
  const id = await start(user, "trap 'stty size' WINCH; echo ready; while :; do sleep 60 & wait; done");
  await using client = await open(user);
  client.subscribe(id, WEB);
  await client.until(() => client.text(id).includes("ready"));
  client.resize(id, 132, 43);
  await client.until(() => client.text(id).includes("43 132"));
  await client.until(() => client.events(id).some(({ dimensions }) => dimensions === "132x43"));
  client.kill(id, "SIGKILL");
  await client.until(() => client.exitCode(id) === 137);
});

test.concurrent("the iOS client gets a screen at once, each change, and the exit", async () => {
  const user = await logIn();
  const id = await start(
    user,
    "stty -echo; printf '\\033]2;ready\\007'; read a; printf '\\033[1;31mred\\033[m 語\\n'; read b; exit 4",
  );
  await using client = await open(user);
  client.subscribe(id, IOS);
  await client.until(() => client.screen(id) !== undefined);
  expect(client.screen(id)).toMatchObject({ cols: 80, cursor: [0, 0] });
  // Earlier input would be echoed.
  using modern = await cluster.client();
  const isReady = async () => (await modern.api.get(id)).title === "ready" || undefined;
  await eventually(isReady, "the program's title");
  client.type(id, "\n");
  await client.until(() => oldScreenText(client.screen(id)).startsWith("red 語"));
  expect(client.screen(id)?.rows[0]?.slice(0, 2)).toEqual([
    { text: "r", attributes: 1, fg: 1 },
    { text: "e", attributes: 1, fg: 1 },
  ]);
  client.type(id, "\n");
  await client.until(() => client.exitCode(id) === 4);
  expect(client.of("STDOUT")).toEqual([]);
});

test.concurrent("the web's previews and its global channel share one socket", async () => {
  const user = await logIn();
  await using client = await open(user);
  client.subscribe("", GLOBAL);
  await client.until(() => client.events("").some(({ type }) => type === "connected"));
  const words = ["one", "two", "three"];
  const ids = await Promise.all(words.map((word) => start(user, `echo ${word}; read line`, { name: word })));
  for (const id of ids) client.subscribe(id, PREVIEW);
  for (const [index, id] of ids.entries()) {
    await client.until(() => oldScreenText(client.screen(id)).includes(words[index] ?? ""));
    await client.until(() => told(client, id, "session-start"));
    client.kill(id);
    await client.until(() => told(client, id, "session-exit"));
  }
  client.ping();
  await client.until(() => client.of("PONG").length > 0);
});

/** Server events have a time. */
function told(client: VibeTunnelClient, sessionId: string, type: string): boolean {
  return [...client.events(""), ...client.events(sessionId)].some(
    (event) => event.type === type && event.sessionId === sessionId && event.timestamp !== undefined,
  );
}

// Runs last, because it ends the connections of the others.
test("after the HQ's server was killed it comes back by itself, and its terminal is whole again", async () => {
  const user = await logIn();
  const id = await start(user, "cat");
  await using client = await open(user);
  client.subscribe(id, WEB);
  client.subscribe("", GLOBAL);
  client.type(id, "first\n");
  await client.until(() => client.text(id) === "first\r\nfirst\r\n");
  client.frames.length = 0;
  await cluster.hq.killServer();
  await client.until(() => client.connections === 2 && client.text(id) === "first\r\nfirst\r\n");
  client.type(id, "second\n");
  await client.until(() => client.text(id) === "first\r\nfirst\r\nsecond\r\nsecond\r\n");
  expect(client.events("").map(({ type }) => type)).toContain("connected");
});
