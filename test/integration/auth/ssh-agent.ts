// OpenSSH's own agent: it holds keys of ssh-keygen, and signs for SSH clients.
import { type ChildProcess, execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { access, mkdtemp, readFile, rm } from "node:fs/promises";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { eventually } from "../../../packages/testing/src/wait.ts";
import { withDeadline } from "../../../src/lib/async/deadline.ts";
import { PATIENCE_MS } from "../harness/patience.ts";

const run = promisify(execFile);
const SIGN_REQUEST = 13;
const SIGN_RESPONSE = 14;

export class SshAgent implements AsyncDisposable {
  readonly #process: ChildProcess;
  readonly #directory: string;
  #keys = 0;

  private constructor(process: ChildProcess, directory: string) {
    this.#process = process;
    this.#directory = directory;
  }

  static async start(): Promise<SshAgent> {
    const directory = await mkdtemp(join(tmpdir(), "ttyhq-agent-"));
    const child = spawn("ssh-agent", ["-D", "-a", join(directory, "socket")], { stdio: "ignore" });
    const agent = new SshAgent(child, directory);
    await eventually(
      () =>
        access(agent.#socket).then(
          () => true,
          () => undefined,
        ),
      "the socket of ssh-agent",
    );
    return agent;
  }

  /** A new key, as an OpenSSH line. */
  async newKey(): Promise<string> {
    this.#keys += 1;
    const file = join(this.#directory, `key-${this.#keys}`);
    await run("ssh-keygen", ["-q", "-t", "ed25519", "-N", "", "-C", "me@here", "-f", file]);
    await run("ssh-add", ["-q", file], { env: { ...process.env, SSH_AUTH_SOCK: this.#socket } });
    return (await readFile(`${file}.pub`, "utf8")).trim();
  }

  /** An SSH signature over `message` with the key of that line. */
  async sign(line: string, message: Uint8Array): Promise<Uint8Array> {
    const blob = Buffer.from(line.split(" ")[1] ?? "", "base64");
    const flags = Buffer.alloc(4);
    const answer = await this.#ask(
      Buffer.concat([Buffer.of(SIGN_REQUEST), ...[blob, message].map(string), flags]),
    );
    if (answer[0] !== SIGN_RESPONSE) throw new Error(`ssh-agent answered ${answer[0]}`);
    return answer.subarray(5);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const ended = once(this.#process, "exit");
    this.#process.kill("SIGTERM");
    await withDeadline(ended, PATIENCE_MS, "the end of ssh-agent");
    await rm(this.#directory, { recursive: true, force: true });
  }

  get #socket(): string {
    return join(this.#directory, "socket");
  }

  /** A request and its answer, each with a length prefix. */
  async #ask(question: Uint8Array): Promise<Buffer> {
    const socket = connect(this.#socket);
    socket.write(string(question));
    const read = async (): Promise<Buffer> => {
      let all: Buffer = Buffer.alloc(0);
      for await (const piece of socket) {
        all = Buffer.concat([all, piece]);
        if (all.length >= 4 && all.length === 4 + all.readUInt32BE(0)) return all.subarray(4);
      }
      throw new Error("ssh-agent hung up");
    };
    return await withDeadline(read(), PATIENCE_MS, "the answer of ssh-agent");
  }
}

function string(bytes: Uint8Array): Buffer {
  const length = Buffer.alloc(4);
  length.writeUInt32BE(bytes.length);
  return Buffer.concat([length, bytes]);
}
