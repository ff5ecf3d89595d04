import { createHash } from "node:crypto";
import type { Component } from "./component.ts";

export type Document = {
  readonly bomFormat: "CycloneDX";
  readonly specVersion: "1.5";
  readonly serialNumber: string;
  readonly version: 1;
  readonly metadata: { readonly component: Component };
  readonly components: readonly Component[];
};

/** The bill of materials of `component`. Equal contents give equal documents. Each part appears once. */
export function bomOf(component: Component, parts: readonly Component[]): Document {
  const byRef = new Map(parts.map((part) => [part["bom-ref"], part]));
  const components = [...byRef.values()].sort((a, b) => (a["bom-ref"] < b["bom-ref"] ? -1 : 1));
  const hash = createHash("sha256")
    .update(JSON.stringify([component, components]))
    .digest("hex");
  const [, ...words] = /^(.{8})(.{4}).(.{3}).(.{3})(.{12})/.exec(hash) ?? [];
  const [first, second, third, fourth, fifth] = words;
  return {
    ...{ bomFormat: "CycloneDX", specVersion: "1.5" },
    serialNumber: `urn:uuid:${first}-${second}-5${third}-8${fourth}-${fifth}`,
    version: 1,
    metadata: { component },
    components,
  };
}
