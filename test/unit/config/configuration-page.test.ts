// The examples of docs/configuration.md work.
import { readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { expect, test } from "vitest";
import { parseConfig } from "../../../src/config/config.ts";
import { parseConfigFile } from "../../../src/config/sources/config-file.ts";
import { CertificateAuthority } from "../certificate-authority.ts";
import { input } from "./command-line.ts";

const PAGE = readFileSync(new URL("../../../docs/configuration.md", import.meta.url), "utf8");
const PATH = "/etc/ttyhq/config.yaml";
const EXAMPLES = [...PAGE.matchAll(/```yaml\n(# (.*)\n[\s\S]*?)```/g)].map(([, text = "", title = ""]) => [
  title,
  text,
]);

const authority = new CertificateAuthority("test");
const { cert, key } = authority.issue(["localhost"]);
const FILES: readonly (readonly [RegExp, Uint8Array])[] = [
  [/tls\/[a-z0-9-]+\.crt$/, cert],
  [/tls\/[a-z0-9-]+\.key$/, key.bytes()],
  [/secrets\/hq-password$/, new TextEncoder().encode("s3cret\n")],
  [/secrets\/join-token$/, new TextEncoder().encode("a join token of at least 32 bytes\n")],
];

function readFile(path: string): Uint8Array {
  const found = FILES.find(([name]) => name.test(path));
  if (found === undefined || !path.startsWith(dirname(PATH))) throw new Error(`no ${path}`);
  return found[1];
}

test("there are examples", () => expect(EXAMPLES.length).toBeGreaterThanOrEqual(4));

test.each(EXAMPLES)("the example %s is a configuration without a warning", (_, text) => {
  const file = parseConfigFile({
    path: join(PATH),
    name: PATH,
    bytes: new TextEncoder().encode(text),
    mode: 0o644,
  });
  expect(parseConfig({ ...input(""), readFile, file }).warnings).toEqual([]);
});
