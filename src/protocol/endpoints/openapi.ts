import { z } from "zod";
import { ERROR_STATUS, type ErrorCode } from "../errors.ts";
import type { Endpoint } from "./endpoint.ts";

type Json = Record<string, unknown>;

/** Errors of every endpoint. */
const COMMON_ERRORS: readonly ErrorCode[] = [
  "invalid_request",
  "unauthorized",
  "origin_not_allowed",
  "host_not_allowed",
  "rate_limited",
  "internal_error",
];
const BODY_ERRORS: readonly ErrorCode[] = ["invalid_json", "body_too_large"];

/** The OpenAPI 3.1 document, made from the schemas that validate the requests (contract 2.7). */
export function openApi(endpoints: Readonly<Record<string, Endpoint>>, version: string): Json {
  const paths: Record<string, Json> = {};
  // An HQ also accepts the credentials of its remotes (specification 5.5).
  const isHq = Object.hasOwn(endpoints, "registerRemote");
  const schemes = isHq ? { ...BEARER, ...BASIC } : BEARER;
  for (const [name, endpoint] of Object.entries(endpoints)) {
    const path = endpoint.path.replace(/[:*]([A-Za-z]+)/g, "{$1}");
    paths[path] = { ...paths[path], [endpoint.method]: operation(name, endpoint, schemes) };
  }
  return {
    openapi: "3.1.0",
    info: {
      title: "ttyhq",
      version,
      description: "Terminal sessions as a service.",
      license: { name: "MIT" },
    },
    paths,
    components: {
      securitySchemes: schemes,
      schemas: { Error: ERROR_SCHEMA },
    },
  };
}

const BEARER = { bearer: { type: "http", scheme: "bearer", bearerFormat: "JWT" } };
const BASIC = { basic: { type: "http", scheme: "basic" } };
const ERROR_SCHEMA = {
  type: "object",
  required: ["error", "code", "details"],
  properties: {
    error: { type: "string", description: "for the user" },
    code: { type: "string", enum: Object.keys(ERROR_STATUS) },
    details: { type: "object" },
  },
};

function operation(name: string, endpoint: Endpoint, schemes: Json): Json {
  const parameters = [...parameterList("path", endpoint.params), ...parameterList("query", endpoint.query)];
  return {
    operationId: name,
    summary: endpoint.summary,
    tags: [endpoint.tag],
    security: endpoint.need === "open" ? [] : Object.keys(schemes).map((scheme) => ({ [scheme]: [] })),
    ...(parameters.length === 0 ? {} : { parameters }),
    ...requestBody(endpoint),
    responses: { ...replies(endpoint), ...errorReplies(endpoint) },
  };
}

function requestBody({ body, upload }: Endpoint): Json {
  if (upload) return { requestBody: { required: true, content: bytesOf("application/octet-stream") } };
  if (body === undefined) return {};
  const content = { "application/json": { schema: schemaOf(body, "input") } };
  return { requestBody: { required: true, content } };
}

function bytesOf(media: string): Json {
  return { [media]: { schema: { type: "string", format: "binary" } } };
}

function replies({ reply }: Endpoint): Json {
  if (!("json" in reply)) {
    return { [reply.status]: { description: reply.description, content: bytesOf(reply.media) } };
  }
  const content = { "application/json": { schema: schemaOf(reply.json, "output") } };
  const { other } = reply;
  return {
    [reply.status]: { description: "done", content },
    ...(other && { [other.status]: { description: other.description, content } }),
  };
}

function errorReplies({ errors, need, body, tag }: Endpoint): Json {
  const codes = [
    ...[...errors, ...COMMON_ERRORS].filter((code) => need !== "open" || code !== "unauthorized"),
    ...(body === undefined ? [] : BODY_ERRORS),
    // The session host or remote may be unreachable.
    ...(tag === "sessions" ? (["host_unreachable"] as const) : []),
  ];
  const byStatus = Map.groupBy(codes, (code) => ERROR_STATUS[code]);
  const replies = [...byStatus].map(([status, all]) => [
    status,
    {
      description: [...new Set(all)].join(", "),
      content: { "application/json": { schema: { $ref: "#/components/schemas/Error" } } },
    },
  ]);
  return Object.fromEntries(replies);
}

function parameterList(place: "path" | "query", schema: z.ZodObject | undefined): Json[] {
  if (schema === undefined) return [];
  return Object.entries(schema.shape).map(([name, field]) => ({
    name,
    in: place,
    required: place === "path",
    schema: schemaOf(field, "input"),
  }));
}

function schemaOf(schema: z.core.$ZodType, io: "input" | "output"): Json {
  const { $schema: _, ...rest } = z.toJSONSchema(schema, { io, unrepresentable: "any" });
  return rest;
}
