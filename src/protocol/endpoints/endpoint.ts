import { z } from "zod";
import type { ErrorCode } from "../errors.ts";
import type { Permission } from "../schemas/permission.ts";

/** How VibeTunnel's clients learn that a request was successful. */
export const Success = z.object({ success: z.literal(true) });

/** "open": no login. "login": any login or share link. "sessions:resize": guests only have it by a link that says so. */
export type Need = Permission | "sessions:resize" | "open" | "login";

/** One endpoint as data: the router mounts it, the client calls it, and the OpenAPI document describes it. */
export type Endpoint = {
  readonly method: "get" | "post" | "patch" | "delete";
  /** Path with `:name` for parameters. */
  readonly path: string;
  readonly summary: string;
  readonly tag: "sessions" | "shares" | "auth" | "server" | "remotes" | "git";
  readonly need: Need;
  /**
   * "stream": the query may carry the token, because an event stream cannot set headers. "registry": registration of
   * remotes, open on an HQ without credentials.
   */
  readonly access: "user" | "stream" | "registry";
  /** The rate limit that a call counts against (contract 4.2); "sessions": both limits. */
  readonly limit: "none" | "api" | "sessions";
  /** Whether the session host serves it too, on its unix socket. */
  readonly host: boolean;
  readonly params?: z.ZodObject;
  readonly query?: z.ZodObject;
  readonly body?: z.ZodType;
  /** The body is a file, which the route reads as a stream. */
  readonly upload?: true;
  readonly reply: Reply;
  /** The longest answer that a client reads; by default MAX_REPLY_BYTES. */
  readonly maxReplyBytes?: number;
  readonly errors: readonly ErrorCode[];
};

export type Reply =
  | {
      readonly status: number;
      /** The status of the same reply to certain request bodies. */
      readonly other?: {
        readonly status: number;
        readonly isFor: (body: Readonly<Record<string, unknown>>) => boolean;
        readonly description: string;
      };
      readonly json: z.ZodType;
    }
  /** Bytes of a media type. */
  | { readonly status: number; readonly media: string; readonly description: string };

type Base = Omit<Endpoint, "params" | "query" | "body" | "reply">;
type Parts = Partial<Omit<Endpoint, "method" | "path" | "summary">>;
type Defined<S, P> = Omit<Base, keyof S | keyof P> & Omit<S, keyof P> & P;
type Define<S> = <const P extends Parts>(path: string, summary: string, parts: P) => Defined<S, P>;

/** Defines endpoints with `common` parts, which each may replace. Defaults: for users, counted, not on the session host. */
export function endpointsWith<const S extends Parts & Pick<Endpoint, "tag" | "need">>(
  common: S,
): Readonly<Record<Endpoint["method"], Define<S>>> {
  const defaults = { access: "user", limit: "api", host: false, errors: [] } as const;
  const define =
    (method: Endpoint["method"]): Define<S> =>
    (path, summary, parts) => ({ ...defaults, ...common, ...parts, method, path, summary });
  return { get: define("get"), post: define("post"), patch: define("patch"), delete: define("delete") };
}

export function json<J extends z.ZodType>(schema: J, status = 200): { readonly status: number; json: J } {
  return { status, json: schema };
}

export function media(type: string, description: string): Extract<Reply, { readonly media: string }> {
  return { status: 200, media: type, description };
}

type Parsed<T> = T extends z.ZodType ? z.output<T> : undefined;

export type EndpointInput<E extends Endpoint> = {
  readonly params: Parsed<E["params"]>;
  readonly query: Parsed<E["query"]>;
  readonly body: Parsed<E["body"]>;
};

export type EndpointOutput<E extends Endpoint> = E["reply"] extends {
  readonly json: infer J extends z.ZodType;
}
  ? z.input<J>
  : never;

/** Fills the parameters in, escaped. */
export function endpointPath(
  endpoint: Pick<Endpoint, "path">,
  params: Readonly<Record<string, string>> = {},
): string {
  return endpoint.path.replace(/:([A-Za-z]+)/g, (_, name: string) => encodeURIComponent(params[name] ?? ""));
}

/** The parameters of a path, split into segments; `undefined` if it is not the endpoint's path. */
export function matchPath(
  { path }: Pick<Endpoint, "path">,
  segments: readonly string[],
): Readonly<Record<string, string>> | undefined {
  const pattern = path.split("/").slice(1);
  if (pattern.length !== segments.length) return undefined;
  const params: Record<string, string> = {};
  for (const [index, part] of pattern.entries()) {
    const segment = segments[index] ?? "";
    if (part.startsWith(":")) params[part.slice(1)] = segment;
    else if (part !== segment) return undefined;
  }
  return params;
}
