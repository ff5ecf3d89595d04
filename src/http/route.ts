// What a route is: a function from parsed input to an answer. It knows neither express nor sockets.
import type { Principal } from "../auth/principal.ts";
import type { Endpoint, EndpointInput, EndpointOutput } from "../protocol/endpoints/endpoint.ts";
import type { EndpointName, Endpoints } from "../protocol/endpoints/endpoints.ts";
import type { Content } from "../sessions/backend.ts";

/** Who asks, and what of the request no schema describes. */
export type Context = {
  /** Undefined on open endpoints. */
  readonly principal: Principal | undefined;
  /** Whom the server takes the caller for where no login is sent; `undefined`: nobody. */
  readonly identified: () => Promise<Principal | undefined>;
  /** The client's address, undefined on a unix socket. */
  readonly address: string | undefined;
  /** The User-Agent header. */
  readonly client?: string | undefined;
  /** Of the page that asks; one that may not use the server was refused before. */
  readonly origin?: string | undefined;
  readonly range: string | undefined;
  /** The Accept header. */
  readonly accept: string | undefined;
  readonly lastEventId: string | undefined;
  /** Sets a header of the answer. */
  readonly setHeader?: (name: string, value: string) => void;
  /** Aborts when the client has gone. */
  readonly signal: AbortSignal;
};

/** Bytes instead of JSON, in pieces or at once; the endpoint's own status unless another is given. */
export type Media = Omit<Content, "body"> & {
  readonly body: Content["body"] | Uint8Array;
  readonly status?: number;
};

/** A JSON answer that is there as UTF-8 already. */
export class JsonBytes {
  readonly bytes: Uint8Array;

  constructor(bytes: Uint8Array) {
    this.bytes = bytes;
  }
}

type Answer<E extends Endpoint> = E["reply"] extends { readonly media: string }
  ? Media
  : EndpointOutput<E> | JsonBytes;

export type Route<E extends Endpoint> = (input: EndpointInput<E>, context: Context) => Promise<Answer<E>>;

/** Routes by the name of their endpoint; what has none is not mounted. */
export type Routes = { readonly [Name in EndpointName]?: Route<Endpoints[Name]> };
