import { readManifest } from "./manifest.ts";
import { objectProblems } from "./object-policy.ts";
import { podProblems } from "./pod-policy.ts";

/** What is wrong with the objects of an overlay, a sentence each, with the object's kind and name in front. */
export function policyProblems(objects: readonly unknown[]): readonly string[] {
  const manifest = readManifest(objects);
  return [
    ...objectProblems(manifest),
    ...manifest.workloads.flatMap((workload) => podProblems(workload, manifest)),
  ];
}
