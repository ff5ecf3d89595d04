import type { z } from "zod";
import type { ErrorCode } from "../errors.ts";

/** One endpoint as data: what the router mounts, the client calls and the OpenAPI document describes. */
export type Endpoint = {
  readonly method: "get" | "post" | "patch" | "delete";
  /** Path with `:name` for parameters. */
  readonly path: string;
  readonly summary: string;
  readonly tag: "sessions" | "shares" | "auth" | "server" | "remotes" | "git";
  /**
   * "open": no login. "stream": the query may carry the token, because an event stream cannot set headers. "registry":
   * how machines join an HQ, which one without credentials leaves open. Which permission it needs says auth/roles.ts.
   */
  readonly access: "open" | "user" | "stream" | "registry";
  /** What a call counts against (contract 4.2); "sessions": against both limits. */
  readonly limit: "none" | "api" | "sessions";
  /** Whether the session host answers it too, on its unix socket. */
  readonly host: boolean;
  readonly params?: z.ZodObject;
  readonly query?: z.ZodObject;
  readonly body?: z.ZodType;
  readonly reply: Reply;
  readonly errors: readonly ErrorCode[];
};

export type Reply =
  | {
      readonly status: number;
      /** The status of the same answer to requests with such a body. */
      readonly other?: {
        readonly status: number;
        readonly isFor: (body: Readonly<Record<string, unknown>>) => boolean;
        readonly description: string;
      };
      readonly json: z.ZodType;
    }
  /** Bytes of a media type. */
  | { readonly status: number; readonly media: string; readonly description: string };

type Parsed<T> = T extends z.ZodType ? z.output<T> : undefined;

/** What a handler gets: parsed, never raw. */
export type EndpointInput<E extends Endpoint> = {
  readonly params: Parsed<E["params"]>;
  readonly query: Parsed<E["query"]>;
  readonly body: Parsed<E["body"]>;
};

/** What an endpoint with a JSON reply answers. */
export type EndpointOutput<E extends Endpoint> = E["reply"] extends {
  readonly json: infer J extends z.ZodType;
}
  ? z.input<J>
  : never;

/** The path with its parameters filled in and escaped. */
export function endpointPath(
  endpoint: Pick<Endpoint, "path">,
  params: Readonly<Record<string, string>> = {},
): string {
  return endpoint.path.replace(/:([A-Za-z]+)/g, (_, name: string) => encodeURIComponent(params[name] ?? ""));
}

/** The parameters of a path, given as its segments, at that endpoint; `undefined`: it is another endpoint's. */
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
