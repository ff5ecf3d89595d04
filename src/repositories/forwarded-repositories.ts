// Repositories behind another process with git workers: a server asks its session host.
import { withDeadline } from "../lib/async/deadline.ts";
import { collectBytes } from "../lib/data/collect.ts";
import { readError, requestOf } from "../protocol/client/caller.ts";
import type { Send } from "../protocol/client/send.ts";
import type { Endpoint } from "../protocol/endpoints/endpoint.ts";
import { endpoints } from "../protocol/endpoints/endpoints.ts";
import { ServiceError } from "../protocol/errors.ts";
import type { Repositories } from "./repositories.ts";

/** Enough for a change of a large repository that waits for its turn. */
const ANSWER_TIMEOUT_MS = 120_000;
const MAX_ANSWER_BYTES = 64 * 1024 * 1024;
/** The user of the request; only the server's own user can open the host's socket. */
export const CALLER_HEADER = "ttyhq-caller";

export function forwardedRepositories(send: Send): Repositories {
  return {
    call: async (name, input, caller, signal) => {
      const endpoint: Endpoint = endpoints[name];
      const request = requestOf(endpoint, input);
      const headers = { ...request.headers, [CALLER_HEADER]: encodeURIComponent(JSON.stringify(caller)) };
      return await withDeadline(
        async (abort) => {
          const { status, body } = await send({ ...request, headers, signal: abort });
          if (status >= 200 && status < 300) return await collectBytes(body, MAX_ANSWER_BYTES);
          const message = `the session host answered with status ${status}`;
          throw withExplanation(await readError(body, "internal_error", message));
        },
        ANSWER_TIMEOUT_MS,
        `the session host's answer to ${name}`,
        signal,
      );
    },
  };
}

function withExplanation(error: ServiceError): ServiceError {
  if (error.code !== "not_found") return error;
  const message =
    "the session host is of a version without repositories: end its sessions and start it again";
  return new ServiceError("host_incompatible", message);
}
