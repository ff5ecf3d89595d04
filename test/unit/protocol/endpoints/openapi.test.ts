import { describe, expect, test } from "vitest";
import { z } from "zod";
import { endpoints } from "../../../../src/protocol/endpoints/endpoints.ts";
import { openApi } from "../../../../src/protocol/endpoints/openapi.ts";
import { ERROR_STATUS } from "../../../../src/protocol/errors.ts";

const Schema = z.record(z.string(), z.unknown());
const Content = z.record(
  z.string().regex(/^[\w.+-]+\/[\w.+-]+(; [\w.-]+=[\w.-]+)*$/),
  z.strictObject({ schema: Schema }),
);
const Parameter = z.strictObject({
  name: z.string().min(1),
  in: z.enum(["path", "query"]),
  required: z.boolean(),
  schema: Schema,
});
const Operation = z.strictObject({
  operationId: z.string().min(1),
  summary: z.string().min(1),
  tags: z.array(z.string()),
  security: z.array(z.record(z.string(), z.array(z.string()))),
  parameters: z.array(Parameter).optional(),
  requestBody: z.strictObject({ required: z.literal(true), content: Content }).optional(),
  responses: z.record(
    z.string().regex(/^[1-5]\d\d$/),
    z.strictObject({ description: z.string().min(1), content: Content }),
  ),
});
/** The part of OpenAPI 3.1 that is used here. */
const Document = z.strictObject({
  openapi: z.literal("3.1.0"),
  info: z.strictObject({
    title: z.string().min(1),
    version: z.string().min(1),
    description: z.string(),
    license: z.strictObject({ name: z.string() }),
  }),
  paths: z.record(
    z.string().startsWith("/"),
    z.partialRecord(z.enum(["get", "post", "patch", "delete"]), Operation),
  ),
  components: z.strictObject({
    securitySchemes: z.strictObject({
      bearer: z.strictObject({
        type: z.literal("http"),
        scheme: z.literal("bearer"),
        bearerFormat: z.string(),
      }),
      basic: z.strictObject({ type: z.literal("http"), scheme: z.literal("basic") }).optional(),
    }),
    schemas: z.strictObject({ Error: Schema }),
  }),
});

const document = Document.parse(JSON.parse(JSON.stringify(openApi(endpoints, "1.2.3"))));
const operations = Object.entries(document.paths).flatMap(([path, methods]) =>
  Object.entries(methods).map(([method, operation]) => ({
    path,
    method,
    operation: Operation.parse(operation),
  })),
);

describe("the description of the service", () => {
  test("has every endpoint once, under its name", () => {
    const named = Object.entries(endpoints).map(([name, { method, path }]) => [
      name,
      method,
      path.replace(/[:*](\w+)/g, "{$1}"),
    ]);
    const described = operations.map(({ path, method, operation }) => [operation.operationId, method, path]);
    expect(described.sort()).toEqual(named.sort());
  });

  test("declares just those path parameters that are in the path", () => {
    for (const { path, operation } of operations) {
      const inPath = [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name);
      const declared = (operation.parameters ?? []).filter((parameter) => parameter.in === "path");
      expect(declared.map(({ name }) => name)).toEqual(inPath);
      expect(declared.every(({ required }) => required)).toBe(true);
      const names = (operation.parameters ?? []).map((parameter) => `${parameter.in} ${parameter.name}`);
      expect(new Set(names).size).toBe(names.length);
    }
  });

  test("has no dangling reference", () => {
    const references = [...JSON.stringify(document).matchAll(/"\$ref":"([^"]*)"/g)].map(
      ([, target]) => target,
    );
    expect(new Set(references)).toEqual(new Set(["#/components/schemas/Error"]));
    for (const { operation } of operations) {
      for (const scheme of operation.security.flatMap((one) => Object.keys(one)))
        expect(Object.keys(document.components.securitySchemes)).toContain(scheme);
    }
  });

  test("has schemas that accept and refuse the same as the endpoints", () => {
    const create = document.paths["/api/sessions"]?.post?.requestBody?.content["application/json"]?.schema;
    const schema = z.fromJSONSchema(create ?? {});
    expect(schema.safeParse({ command: "x", cols: 80, env: { A: "b" } }).success).toBe(true);
    for (const wrong of [
      { cols: 0 },
      { rows: 1001 },
      { cols: 1.5 },
      { command: 5 },
      { env: { A: 5 } },
      { id: "../x" },
    ]) {
      expect(schema.safeParse(wrong).success).toBe(false);
    }
  });

  test("names the error codes of each status", () => {
    const statuses = new Map<string, number>(Object.entries(ERROR_STATUS));
    for (const { operation } of operations) {
      for (const [status, { description }] of Object.entries(operation.responses)) {
        if (Number(status) < 400) continue;
        for (const code of description.split(", "))
          expect(`${code} ${statuses.get(code)}`).toBe(`${code} ${status}`);
      }
    }
  });

  test("has one successful answer for each endpoint, another status for a session in VibeTunnel's spelling, and the common errors", () => {
    for (const { operation } of operations) {
      const statuses = Object.keys(operation.responses);
      expect(statuses.filter((status) => status.startsWith("2"))).toHaveLength(
        operation.operationId === "createSession" ? 2 : 1,
      );
      expect(statuses).toEqual(expect.arrayContaining(["400", "429", "500"]));
      if (operation.security.length > 0) expect(statuses).toContain("401");
    }
  });
});
