// A server with SSH keys, and a client that logs in with them.
import { chmod, mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { type Answer, ask } from "../harness/http.ts";
import { TestServer } from "../harness/test-server.ts";
import { useShared } from "../harness/use-shared.ts";
import { SshAgent } from "./ssh-agent.ts";

type KeyServerOptions = {
  readonly args?: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
};

/** The encodings of a key and a signature. */
export type Spelling = { readonly key?: "line" | "blob"; readonly signature?: "raw" | "ssh" };
export type Proof = { readonly challengeId: string; readonly publicKey: string; readonly signature: string };

export class KeyServer implements AsyncDisposable {
  readonly server: TestServer;
  readonly agent: SshAgent;
  /** A key that logs in the server's own user. */
  readonly key: string;
  /** The client's address. */
  readonly #from: string;
  readonly #resources = new AsyncDisposableStack();

  private constructor({ server, agent, key }: Pick<KeyServer, "server" | "agent" | "key">, from: string) {
    this.server = server;
    this.agent = agent;
    this.key = key;
    this.#from = from;
  }

  /** Without limits except for failed logins. `args` in addition to the limits; by default keys are enabled. */
  static async start({ args = ["--enable-ssh-keys"], env = {} }: KeyServerOptions = {}): Promise<KeyServer> {
    await using stack = new AsyncDisposableStack();
    const agent = stack.use(await SshAgent.start());
    const limits = ["--session-host", "inline", "--rate-limit-api", "0"];
    const server = stack.use(await TestServer.start({ args: [...limits, ...args], env }));
    const started = new KeyServer({ server, agent, key: await agent.newKey() }, "127.0.0.1");
    await started.authorize(started.key);
    started.#resources.use(stack.move());
    return started;
  }

  /** The same server and key for a client of another address, whose failed logins count separately. Owns nothing. */
  at(address: string): KeyServer {
    return new KeyServer(this, address);
  }

  /** The server's own user's; its home is the control directory. */
  get file(): string {
    return join(this.server.controlDir, ".ssh", "authorized_keys");
  }

  async authorize(text: string): Promise<void> {
    await mkdir(join(this.server.controlDir, ".ssh"), { recursive: true, mode: 0o700 });
    await writeFile(this.file, text);
    await chmod(this.file, 0o600);
  }

  post(path: string, body: unknown, from = this.#from): Promise<Answer> {
    return ask(this.server.url, `/api/auth/${path}`, { body, from });
  }

  /** A challenge and its signature. */
  async prove(user?: string, key = this.key, spelling: Spelling = {}): Promise<Proof> {
    const { json } = await this.post("challenge", user === undefined ? {} : { userId: user });
    const message = Buffer.from(json.challenge, "base64");
    const signature = await this.agent.sign(key, message);
    const bytes = spelling.signature === "ssh" ? signature : signature.subarray(-64);
    return {
      challengeId: json.challengeId,
      publicKey: spelling.key === "blob" ? (key.split(" ")[1] ?? "") : key,
      signature: Buffer.from(bytes).toString("base64"),
    };
  }

  /** The complete login, up to the answer of /ssh-login. */
  async logIn(user?: string, key = this.key, from?: string): Promise<Answer> {
    return await this.post("ssh-login", await this.prove(user, key), from);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#resources.disposeAsync();
  }
}

/** Starts one for the tests of a file. Each call of the returned function is a client with its own address. */
export function useKeyServer(): () => KeyServer {
  const keys = useShared(() => KeyServer.start());
  let clients = 0;
  return () => {
    clients += 1;
    return keys().at(`127.0.3.${clients}`);
  };
}
