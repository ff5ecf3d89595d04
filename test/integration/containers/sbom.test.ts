// The bill of materials in the image.
import { readFile } from "node:fs/promises";
import { beforeAll, describe, expect, test } from "vitest";
import { z } from "zod";
import { builtImage, IMAGE, ROOT } from "./built-image.ts";
import { BUILD_TIMEOUT_MS, docker } from "./docker.ts";

const License = z.union([
  z.strictObject({
    license: z.union([z.strictObject({ id: z.string() }), z.strictObject({ name: z.string() })]),
  }),
  z.strictObject({ expression: z.string() }),
]);
const Component = z.strictObject({
  type: z.enum(["library", "application", "platform", "operating-system", "container"]),
  "bom-ref": z.string(),
  name: z.string().min(1),
  version: z.string().min(1),
  purl: z
    .string()
    .regex(/^pkg:(npm|deb|generic)\/[^@\s]+@[^@\s]+$/)
    .optional(),
  hashes: z
    .array(z.strictObject({ alg: z.literal("SHA-512"), content: z.string().regex(/^[0-9a-f]{128}$/) }))
    .optional(),
  licenses: z.array(License).min(1).optional(),
});
/** The used part of CycloneDX 1.5. */
const Bom = z.strictObject({
  bomFormat: z.literal("CycloneDX"),
  specVersion: z.literal("1.5"),
  serialNumber: z.string().regex(/^urn:uuid:[0-9a-f]{8}-[0-9a-f]{4}-5[0-9a-f]{3}-8[0-9a-f]{3}-[0-9a-f]{12}$/),
  version: z.literal(1),
  metadata: z.strictObject({ component: Component }),
  components: z.array(Component),
});
const Lock = z.object({
  packages: z.record(z.string(), z.object({ version: z.string().optional() })),
});
/** Packages that src imports, and some of their dependencies. */
const BUNDLED = [
  ...[
    "@simplewebauthn/server",
    "@xterm/headless",
    "commander",
    "express",
    "express-rate-limit",
    "http-proxy-3",
  ],
  ...["ioredis", "jsonwebtoken", "node-pty", "openid-client", "pino", "prom-client", "ws", "yaml", "zod"],
  ...["finalhandler", "negotiator", "path-to-regexp", "router", "sonic-boom"],
];

let text: string;
let bom: z.infer<typeof Bom>;
/** "name@version" of all components of a kind. */
const partsOf = (kind: string): string[] =>
  bom.components
    .filter(({ purl }) => purl?.startsWith(`pkg:${kind}/`))
    .map(({ name, version }) => `${name}@${version}`);
const label = (name: string): Promise<string> =>
  docker("image", "inspect", "--format", `{{index .Config.Labels "${name}"}}`, IMAGE);
const inImage = (...command: [string, ...string[]]): Promise<string> => {
  const [file, ...args] = command;
  return docker("run", "--rm", "--network", "none", "--entrypoint", file, IMAGE, ...args);
};

beforeAll(async () => {
  await builtImage();
  text = await inImage("cat", await label("ttyhq.sbom"));
  bom = Bom.parse(JSON.parse(text));
}, BUILD_TIMEOUT_MS);

describe("the bill of materials of the image", () => {
  test("is that of the version that the image says it is, with each part once and no address of anybody", async () => {
    const version = await label("org.opencontainers.image.version");
    expect(bom.metadata.component).toMatchObject({ type: "container", name: "ttyhq", version });
    const references = bom.components.map((component) => component["bom-ref"]);
    expect(new Set(references).size).toBe(references.length);
    expect(text).not.toMatch(/https?:/);
  });

  test("has Node, and every package of Debian that is installed", async () => {
    expect(`v${bom.components.find(({ name }) => name === "node")?.version}`).toBe(
      await inImage("node", "--version"),
    );
    const format = `--showformat=${["Package", "Version"].map((field) => `\${${field}}`).join("@")}\\n`;
    const installed = (await inImage("dpkg-query", "--show", format)).split("\n");
    expect(installed).toContainEqual(expect.stringMatching(/^tini@/));
    expect(partsOf("deb").sort()).toEqual(installed.sort());
  });

  test("has every package of npm that the program needs, and those that its page is made of", async () => {
    const { packages } = Lock.parse(JSON.parse(await readFile(`${ROOT}package-lock.json`, "utf8")));
    const parts = partsOf("npm");
    for (const name of BUNDLED)
      expect(parts).toContain(`${name}@${packages[`node_modules/${name}`]?.version}`);
    for (const name of ["preact", "@preact/signals-core", "@xterm/xterm"]) {
      expect(parts.some((part) => part.startsWith(`${name}@`))).toBe(true);
    }
    for (const name of ["npm", "body-parser", "send", "vitest", "typescript", "playwright-core"]) {
      expect(parts.some((part) => part.startsWith(`${name}@`))).toBe(false);
    }
  });

  test("says under which licence almost everything is", () => {
    const unknown = bom.components.filter(
      ({ purl, licenses }) => purl !== undefined && licenses === undefined,
    );
    expect(unknown.length).toBeLessThan(bom.components.length / 20);
    const licencesOf = (name: string) =>
      bom.components.find((component) => component.name === name)?.licenses;
    expect(licencesOf("express")).toEqual([{ license: { id: "MIT" } }]);
    expect(licencesOf("bash")).toContainEqual({ license: { id: "GPL-3.0-or-later" } });
  });
});
