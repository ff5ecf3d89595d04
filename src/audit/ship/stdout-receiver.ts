import type { AuditReceiver } from "./shipper.ts";

/** What of `process.stdout` is used. */
export type OutputStream = {
  write(text: string, written: (error?: Error | null) => void): unknown;
  readonly writableNeedDrain?: boolean;
  destroy?(): unknown;
};

/** Standard output, as a container's log. Node writes to a pipe without waiting; to a file it waits for the disk. */
export function stdoutReceiver(stdout: OutputStream): AuditReceiver {
  return {
    name: "stdout",
    deliver: async (lines) => {
      const { promise, resolve, reject } = Promise.withResolvers<void>();
      stdout.write(lines.join(""), (error) => (error ? reject(error) : resolve()));
      await promise;
      return lines.length;
    },
    [Symbol.dispose]: () => {
      // A pipe that nobody reads would keep the process from ending.
      if (stdout.writableNeedDrain === true) stdout.destroy?.();
    },
  };
}
