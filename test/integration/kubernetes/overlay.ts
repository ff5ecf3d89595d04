import type { Kubectl } from "./kubectl.ts";

/** Whether the cluster's API is that of 1.20, for which the component `lab` adapts the files. */
export async function isLab(kubectl: Kubectl): Promise<boolean> {
  const versions = await kubectl.does("api-versions");
  return !versions.split("\n").includes("policy/v1");
}
