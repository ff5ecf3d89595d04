import type { AuditReceiver } from "./shipper.ts";

/** The part of `process.stdout` that is used. */
export type OutputStream = {
  write(text: string, written: (error?: Error | null) => void): unknown;
};

/** Standard output. Node writes to a pipe without blocking; to a file it blocks. */
export function stdoutReceiver(stdout: OutputStream): AuditReceiver {
  return {
    name: "stdout",
    deliver: async (lines) => {
      const { promise, resolve, reject } = Promise.withResolvers<void>();
      stdout.write(lines.join(""), (error) => (error ? reject(error) : resolve()));
      await promise;
      return lines.length;
    },
    // A service waits 2 s at most for a pipe that nobody reads (src/cli/program.ts).
    [Symbol.dispose]: () => {},
  };
}
