// Routes: functions from parsed input to an answer, independent of express and sockets.
import type { Principal } from "../auth/principal.ts";
import type { Endpoint, EndpointInput, EndpointOutput } from "../protocol/endpoints/endpoint.ts";
import type { EndpointName, Endpoints } from "../protocol/endpoints/endpoints.ts";
import type { Content } from "../sessions/backend.ts";

/** The caller, undefined on open endpoints, and parts of the request without a schema. */
export type Context<Caller extends Principal | undefined = Principal> = {
  readonly principal: Caller;
  /** The caller without regard to a login in the request; `undefined`: nobody. */
  readonly identified: () => Promise<Principal | undefined>;
  /** Undefined on a unix socket. */
  readonly address: string | undefined;
  readonly client?: string | undefined;
  /** The page's origin, already checked. */
  readonly origin?: string | undefined;
  readonly range: string | undefined;
  /** The type that the client prefers (RFC 9110, 12.5.1), the first if it does not care; false if it accepts none. */
  readonly accepts: (...types: string[]) => string | false;
  readonly lastEventId: string | undefined;
  readonly setHeader?: (name: string, value: string) => void;
  /** Only of an upload. */
  readonly upload?: Upload | undefined;
  /** Aborts when the client disconnects. */
  readonly signal: AbortSignal;
};

/** A file that is being received. The body is read once, and throws `invalid_request` if the client breaks off. */
export type Upload = {
  /** As announced; 0 if it was not. */
  readonly length: number;
  readonly body: AsyncIterable<Uint8Array>;
};

/** Bytes instead of JSON; `status` replaces the endpoint's. */
export type Media = Omit<Content, "body"> & {
  readonly body: Content["body"] | Uint8Array;
  readonly status?: number;
};

/** JSON may already be serialised, as UTF-8. */
type Answer<E extends Endpoint> = E["reply"] extends { readonly media: string }
  ? Media
  : EndpointOutput<E> | Uint8Array;

export type Route<E extends Endpoint> = (
  input: EndpointInput<E>,
  context: Context<E["need"] extends "open" ? undefined : Principal>,
) => Promise<Answer<E>>;

/** By endpoint name; missing routes are not mounted. */
export type Routes = { readonly [Name in EndpointName]?: Route<Endpoints[Name]> | undefined };
