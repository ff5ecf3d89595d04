// A component of CycloneDX 1.5 (https://cyclonedx.org/docs/1.5/json/), with the members that we use.
export type License =
  | { readonly license: { readonly id: string } | { readonly name: string } }
  | { readonly expression: string };

export type Component = {
  readonly type: "library" | "application" | "platform" | "operating-system" | "container";
  readonly "bom-ref": string;
  readonly name: string;
  readonly version: string;
  readonly purl?: string;
  readonly hashes?: readonly { readonly alg: string; readonly content: string }[];
  readonly licenses?: readonly License[];
};

/** A package URL, its parts escaped (https://github.com/package-url/purl-spec). */
export function packageUrl(type: string, name: string, version: string, qualifiers = ""): string {
  const path = name.split("/").map(encodeURIComponent).join("/");
  return `pkg:${type}/${path}@${encodeURIComponent(version)}${qualifiers}`;
}

/** "MIT", or "(MIT OR Apache-2.0)"; a licence without an SPDX identifier is copied unchanged. */
export function licensesOf(text: string | undefined): readonly License[] | undefined {
  if (text === undefined || text === "") return undefined;
  if (/ (OR|AND|WITH) /.test(text)) return [{ expression: text }];
  return [{ license: /^[A-Za-z0-9.-]+$/.test(text) ? { id: text } : { name: text } }];
}
