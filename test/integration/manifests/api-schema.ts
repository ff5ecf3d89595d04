// The schemas of the Kubernetes API: values by its OpenAPI description, and unknown fields by its types.
import { mkdtempDisposable, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { z } from "zod";
import { run } from "../containers/docker.ts";

const MODULES = fileURLToPath(new URL("../../../node_modules", import.meta.url));
const TYPE_CHECK_TIMEOUT_MS = 120_000;
const CONFIG = {
  compilerOptions: {
    target: "es2024",
    module: "nodenext",
    strict: true,
    noEmit: true,
    skipLibCheck: true,
    types: [],
  },
  files: ["objects.ts"],
};

const Typed = z.looseObject({
  apiVersion: z.string(),
  kind: z.string(),
  metadata: z.object({ name: z.string() }),
});
/** Kinds of other projects than Kubernetes, by the group of their API. */
const MODELS: Readonly<Record<string, string>> = {
  "gateway.networking.k8s.io": "@kubernetes-models/gateway-api/",
  "keda.sh": "@kubernetes-models/keda/",
  "monitoring.coreos.com": "@kubernetes-models/prometheus-operator/",
};
/** For Kubernetes' own kinds: the newest supported version, and one older than those of docs/kubernetes.md. */
export const API_VERSIONS = { newest: "kubernetes-models/", oldest: "kubernetes-models-1.27/" } as const;
type Api = (typeof API_VERSIONS)[keyof typeof API_VERSIONS];
type Validated = { validate(): void };
const Model = z.custom<new (object: unknown) => Validated>((value) => typeof value === "function");

/** The values in these objects that the API would refuse or silently drop; an empty list for none. */
export async function schemaProblems(
  objects: readonly unknown[],
  api: Api = API_VERSIONS.newest,
): Promise<readonly string[]> {
  const typed = objects.map((object) => Typed.parse(object));
  const values = await Promise.all(typed.map((object) => valueProblems(object, api)));
  return [...values.flat(), ...(await unknownFields(typed, api))];
}

function modelOf({ apiVersion, kind }: z.infer<typeof Typed>, api: Api): string {
  const [group = ""] = apiVersion.split("/");
  return `${MODELS[group] ?? api}${apiVersion}/${kind}`;
}

async function valueProblems(object: z.infer<typeof Typed>, api: Api): Promise<readonly string[]> {
  const { kind, metadata } = object;
  const module: Record<string, unknown> = await import(/* @vite-ignore */ modelOf(object, api));
  try {
    new (Model.parse(module[kind]))(object).validate();
    return [];
  } catch (error) {
    return [`${kind}/${metadata.name}: ${error instanceof Error ? error.message : error}`];
  }
}

/** By the compiler: an object literal may have no member that its type does not have. */
async function unknownFields(
  objects: readonly z.infer<typeof Typed>[],
  api: Api,
): Promise<readonly string[]> {
  await using directory = await mkdtempDisposable(join(tmpdir(), "ttyhq-manifests-"));
  const { path } = directory;
  const lines = objects.map((object, index) => {
    const type = `import("${modelOf(object, api)}").I${object.kind}`;
    return `export const object${index}: ${type} = ${JSON.stringify(object)};`;
  });
  await symlink(MODULES, join(path, "node_modules"));
  await writeFile(join(path, "package.json"), '{"type":"module"}');
  await writeFile(join(path, "tsconfig.json"), JSON.stringify(CONFIG));
  await writeFile(join(path, "objects.ts"), lines.join("\n"));
  const { code, stdout } = await run(join(MODULES, ".bin/tsc"), ["--project", path, "--pretty", "false"], {
    timeoutMs: TYPE_CHECK_TIMEOUT_MS,
  });
  return code === 0 ? [] : stdout.split("\n").map((line) => named(line, objects));
}

/** Replaces the compiler's line number by the object on that line. */
function named(line: string, objects: readonly z.infer<typeof Typed>[]): string {
  const [, number = "", rest = line] = /^\S*objects\.ts\((\d+),\d+\): error TS\d+: (.*)$/.exec(line) ?? [];
  const object = objects[Number(number) - 1];
  return object === undefined ? line : `${object.kind}/${object.metadata.name}: ${rest}`;
}
