import { expect, onTestFinished, test, vi } from "vitest";
import { Login, type LoginState } from "../../../../src/web/login/login.ts";
import { FakeStorage, FakeWindow } from "../fake-window.ts";

type Asked = { readonly path: string; readonly answer: (body: unknown) => void };

/** A server to whom nobody has to prove anything; it answers when the test says so. */
class OpenServer {
  readonly #asked: Asked[] = [];

  constructor() {
    vi.stubGlobal("fetch", async (path: string) => {
      const { promise, resolve } = Promise.withResolvers<unknown>();
      this.#asked.push({ path, answer: resolve });
      return Response.json(await promise);
    });
    onTestFinished(() => void vi.unstubAllGlobals());
  }

  /** Answers what it was asked first and was not answered yet; resolves when the page has dealt with it. */
  async answers(path: string, body: unknown): Promise<void> {
    await expect.poll(() => this.#asked[0]?.path).toBe(path);
    this.#asked.shift()?.answer(body);
    for (let turn = 0; turn < 5; turn += 1) await new Promise(setImmediate);
  }

  get isAsked(): boolean {
    return this.#asked.length > 0;
  }
}

const CONFIG = { enableSSHKeys: false, disallowUserPassword: false, noAuth: true, proxyAuth: false };
const loginOf = (token: string) => ({ token, user: "me", expiresAt: Date.now() + 60_000 });
const tokenOf = (token: string) => ({ token, expiresIn: 60, user: "me" });

/** A page with the token of an earlier visit. */
async function letIn(window: FakeWindow): Promise<Login> {
  window.localStorage.setItem("ttyhq.login", JSON.stringify(loginOf("old")));
  const login = new Login(window);
  await login.start({});
  return login;
}

/** In another tab. */
function logInElsewhere(window: FakeWindow): void {
  window.localStorage.setItem("ttyhq.login", JSON.stringify(loginOf("new")));
  window.dispatchEvent(Object.assign(new Event("storage"), { key: "ttyhq.login" }));
}

test("without required logins two simultaneous refusals cause no login", async () => {
  const server = new OpenServer();
  using login = await letIn(new FakeWindow(new FakeStorage()));
  const seen: LoginState["kind"][] = [];
  login.state.subscribe(({ kind }) => void seen.push(kind));
  login.refused("old");
  login.refused("old");
  await server.answers("/api/auth/config", CONFIG);
  await server.answers("/api/auth/token", tokenOf("new"));
  expect(server.isAsked).toBe(false);
  expect(seen).toEqual(["in", "in"]);
  expect(login.token).toBe("new");
});

test("a stored token of a share link is used up to its maximum length", async () => {
  const server = new OpenServer();
  const window = new FakeWindow(new FakeStorage());
  const stored = (length: number): LoginState["kind"] => {
    window.sessionStorage.setItem("ttyhq.guest", "x".repeat(length));
    using login = new Login(window);
    void login.start({});
    return login.state.value.kind;
  };
  expect(stored(8_192)).toBe("in");
  expect(server.isAsked).toBe(false);
  expect([stored(8_193), stored(0)]).toEqual(["checking", "checking"]);
  expect(server.isAsked).toBe(true);
});

test.each([
  ["an answer", { ...CONFIG, noAuth: false }],
  ["a failure", {}],
])("a login in another tab is not undone by %s that was on its way", async (_, answer) => {
  const server = new OpenServer();
  const window = new FakeWindow(new FakeStorage());
  using login = await letIn(window);
  login.refused("old");
  logInElsewhere(window);
  expect(login.token).toBe("new");
  await server.answers("/api/auth/config", answer);
  expect(login.token).toBe("new");
});

test("a pending log out does not undo a login in another tab", async () => {
  const server = new OpenServer();
  const window = new FakeWindow(new FakeStorage());
  using login = await letIn(window);
  void login.logOut();
  logInElsewhere(window);
  await server.answers("/api/auth/logout", {});
  expect(login.token).toBe("new");
  expect(server.isAsked).toBe(false);
});
