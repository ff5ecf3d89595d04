// A component as CycloneDX 1.5 has it (https://cyclonedx.org/docs/1.5/json/), as far as we tell of one.
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

/** "MIT", or "(MIT OR Apache-2.0)"; what is no identifier of SPDX is told as it stands. */
export function licensesOf(text: string | undefined): readonly License[] | undefined {
  if (text === undefined || text === "") return undefined;
  if (/ (OR|AND|WITH) /.test(text)) return [{ expression: text }];
  return [{ license: /^[A-Za-z0-9.-]+$/.test(text) ? { id: text } : { name: text } }];
}
