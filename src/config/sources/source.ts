/** Where something that was given stands. */
export type Source =
  | { readonly kind: "flag"; readonly name: string }
  | { readonly kind: "variable"; readonly name: string }
  | FileSource;

/** `path` as it was given; line and column count from 1. */
export type FileSource = {
  readonly kind: "file";
  readonly name: string;
  readonly path: string;
  readonly line: number;
  readonly column: number;
};

/** What a sentence about it begins with: `--port`, `TTYHQ_PORT`, `config.yaml:3:7: port`. */
export function sourceName(source: Source): string {
  if (source.kind !== "file") return source.name;
  return `${placeName(source)}: ${source.name}`;
}

/** As editors and compilers write a place. */
export function placeName({ path, line, column }: Omit<FileSource, "kind" | "name">): string {
  return `${path}:${line}:${column}`;
}
