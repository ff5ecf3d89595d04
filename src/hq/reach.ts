import { isTimeout } from "../lib/async/deadline.ts";
import { ServiceError } from "../protocol/errors.ts";
import type { RemoteLabel } from "./remote-connection.ts";

/**
 * Does something that needs a machine. One that is out of reach is named: `remote_unreachable`, or `remote_timeout`
 * when it is late, be it by a deadline around `work`; the machine's own errors pass through (contract 6.5).
 */
export async function reach<T>({ name }: Pick<RemoteLabel, "name">, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (isTimeout(error)) throw new ServiceError("remote_timeout", late(name), { cause: error });
    if (!(error instanceof ServiceError)) throw error;
    if (error.code === "unauthorized") throw unacquainted(name, error);
    if (error.code !== "host_unreachable") throw error;
    const isLate = isTimeout(error.cause);
    throw new ServiceError(
      isLate ? "remote_timeout" : "remote_unreachable",
      `${isLate ? late(name) : `remote ${name} is out of reach`}: ${error.message}`,
      { cause: error },
    );
  }
}

function late(name: string): string {
  return `remote ${name} does not answer in time`;
}

/** It was started again and has not told its new token yet: nothing that the client could mend by logging in. */
function unacquainted(name: string, cause: unknown): ServiceError {
  return new ServiceError("remote_unreachable", `remote ${name} does not know this HQ yet`, { cause });
}
