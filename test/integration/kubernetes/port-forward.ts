import { type ChildProcessByStdio, spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import type { Readable } from "node:stream";
import { withDeadline } from "../../../src/lib/async/deadline.ts";
import type { Kubectl } from "./kubectl.ts";

const OPEN_TIMEOUT_MS = 60_000;

type Forwarder = ChildProcessByStdio<null, Readable, null>;

/** A port of localhost that leads to a Service, during the life of the first answering pod. */
export class PortForward implements AsyncDisposable {
  readonly port: number;
  readonly #child: Forwarder;

  private constructor(child: Forwarder, port: number) {
    this.#child = child;
    this.port = port;
  }

  static async open({ namespace }: Kubectl, service: string, port: number): Promise<PortForward> {
    const args = [`--namespace=${namespace}`, "port-forward", `service/${service}`, `:${port}`];
    const child = spawn("kubectl", args, { stdio: ["ignore", "pipe", "inherit"] });
    try {
      return new PortForward(child, await withDeadline(portOf(child), OPEN_TIMEOUT_MS, "the port-forward"));
    } catch (error) {
      child.kill();
      throw error;
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (this.#child.exitCode !== null) return;
    const ended = once(this.#child, "exit");
    this.#child.kill();
    await ended;
  }
}

async function portOf(child: Forwarder): Promise<number> {
  const { promise, resolve, reject } = Promise.withResolvers<number>();
  // Keeps reading: it prints a line for each connection.
  createInterface(child.stdout).on("line", (line) => {
    const [, port] = /^Forwarding from 127\.0\.0\.1:(\d+)/.exec(line) ?? [];
    if (port !== undefined) resolve(Number(port));
  });
  child.on("error", reject).on("exit", (code) => reject(new Error(`kubectl port-forward: code ${code}`)));
  return promise;
}
