// A server for tests of the page.
import { NO_LIMITS, TestServer, type TestServerOptions } from "../harness/test-server.ts";

export type PageServerOptions = Pick<TestServerOptions, "env" | "asProcess"> & {
  /** By default everybody is admitted. */
  readonly flags?: readonly string[];
};

/** Counts no calls, and its terminals run bash. */
export function startPageServer(options: PageServerOptions = {}): Promise<TestServer> {
  const { flags = ["--no-auth"], env, ...more } = options;
  return TestServer.start({
    ...{ ...more, args: [...NO_LIMITS, ...flags] },
    env: { SHELL: "/bin/bash", LANG: "C.UTF-8", ...env },
  });
}

/** Starts a program at a server without a login; returns the id of its session. */
export async function createSession(
  server: TestServer,
  command: readonly string[],
  name: string,
): Promise<string> {
  const [program = "", ...args] = command;
  return (await server.client().create({ command: [program, ...args], name, cwd: "/tmp" })).id;
}
