// The sources, builder and parameters of a release's files: an in-toto statement with SLSA's provenance, version 1
// (https://slsa.dev/spec/v1.0/provenance). It is not signed: the publisher of a release signs SHA256SUMS, which names
// this file.
import { execFileSync } from "node:child_process";
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { ROOT } from "../build.ts";
import { sha256, version } from "./file.ts";

/** Of all files in `folder`. */
export function provenance(folder: string): string {
  const [commit = "", time = ""] = git("log", "-1", "--format=%H %cI").split(" ");
  const statement = {
    _type: "https://in-toto.io/Statement/v1",
    subject: readdirSync(folder)
      .sort()
      .map((name) => ({ name, digest: { sha256: sha256(join(folder, name)) } })),
    predicateType: "https://slsa.dev/provenance/v1",
    predicate: {
      buildDefinition: {
        buildType: "npm run release",
        externalParameters: { version },
        // With uncommitted changes the commit would be wrong.
        internalParameters: { isCommitted: git("status", "--porcelain") === "", committed: time },
        resolvedDependencies: [
          { name: "source", digest: { gitCommit: commit } },
          { name: "package-lock.json", digest: { sha256: sha256(join(ROOT, "package-lock.json")) } },
          { name: "node", annotations: { version: process.version } },
        ],
      },
      runDetails: { builder: { id: "https://slsa.dev/provenance/v1#local" } },
    },
  };
  return `${JSON.stringify(statement, undefined, 1)}\n`;
}

function git(...args: readonly string[]): string {
  return execFileSync("git", args, { cwd: ROOT, encoding: "utf8" }).trim();
}
