import { readManifest } from "./manifest.ts";
import { objectProblems } from "./object-policy.ts";
import { podProblems } from "./pod-policy.ts";

/** The violations of an overlay's objects, a sentence each, starting with the object's kind and name. */
export function policyProblems(objects: readonly unknown[]): readonly string[] {
  const manifest = readManifest(objects);
  return [
    ...objectProblems(manifest),
    ...manifest.workloads.flatMap((workload) => podProblems(workload, manifest)),
  ];
}
