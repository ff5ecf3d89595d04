// Repositories of this machine, as one of its users may see and change them (specification 4.6, contract 7).
import type { EndpointName } from "../protocol/endpoints/endpoints.ts";
import type { gitEndpoints } from "../protocol/endpoints/git.ts";

export type RepositoryEndpointName = keyof typeof gitEndpoints & EndpointName;

export type RepositoryInput = {
  readonly params?: Readonly<Record<string, string>> | undefined;
  readonly query?: unknown;
  readonly body?: unknown;
};

export type RepositoryCaller = {
  readonly user: string;
  /** The name that owns the user's sessions; `undefined`: they are the server's own. */
  readonly owner: string | undefined;
  /** The system user whose rights count; `undefined`: the session host's own. */
  readonly account: string | undefined;
  /** Whether the sessions and notifications of every user concern the caller. */
  readonly seesAll: boolean;
};

/** Two implementations: LocalRepositories with git workers, and forwardedRepositories, which asks the session host. */
export type Repositories = {
  /** The endpoint's answer, as JSON in UTF-8. Rejects with its errors. */
  call(
    name: RepositoryEndpointName,
    input: RepositoryInput,
    caller: RepositoryCaller,
    signal: AbortSignal,
  ): Promise<Uint8Array>;
};
