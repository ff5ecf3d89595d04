// The kinds of options; options.ts holds the options themselves.

export type Role = "server" | "session-host";

type Common = {
  /** In kebab case: flag, variable and configuration key are derived from it. */
  readonly name: string;
  /** One or more sentences, for the help and docs/options.md. */
  readonly prose: string;
  readonly roles: readonly Role[];
  /** The environment variable, if it is not the derived one. */
  readonly env?: string;
  readonly hasFlag?: false;
};

/** On or off; off by default. */
export type SwitchOption = Common & { readonly shape: "switch" };

export type ValueOption<T> = Common & {
  readonly shape: "value";
  /** Name of the value in the help. */
  readonly placeholder: string;
  /** Throws RangeError "must be …" for an invalid text. */
  readonly parse: (text: string) => T;
  readonly fallback: T;
  /** The default as a user would write it; "" for none. */
  readonly fallbackText: string;
  /** A path, relative to the working directory or to the directory of the configuration file. */
  readonly isPath?: true;
};

/** Repeatable; a comma-separated list in the environment, a list in a configuration file. */
export type ListOption<T> = Common & {
  readonly shape: "list";
  readonly placeholder: string;
  readonly parse: (text: string) => T;
};

/** The path of a file; the option's value is its content. */
export type FileOption<T> = Common & {
  readonly shape: "file";
  /** Throws RangeError "must hold …" for invalid content. */
  readonly parse: (bytes: Uint8Array) => T;
};

/** Given as `--NAME-file`, as the variable or the variable `…_FILE`, or in a configuration file as `NAME` or `NAME-file`. */
export type SecretOption = Common & {
  readonly shape: "secret";
  readonly minBytes: number;
  /** True: `--NAME VALUE` works too, with a warning, because other users of the machine can see it. */
  readonly hasPlainFlag?: true;
  /** Whether a plain value is worth the warning; always, without this. */
  readonly isSecret?: (text: string) => boolean;
};

export type Option =
  | SwitchOption
  | ValueOption<unknown>
  | ListOption<unknown>
  | FileOption<unknown>
  | SecretOption;

/** The members that a table entry states by itself; the role is the server unless stated. */
type Entry<O extends Option> = Omit<O, Derived | "roles"> & Partial<Pick<Common, "roles">>;
type Derived = "shape" | "name" | "placeholder" | "parse" | "fallback" | "fallbackText";

const SERVER = { roles: ["server"] } as const;

export function toggle(name: string, entry: Entry<SwitchOption>): SwitchOption {
  return { ...SERVER, shape: "switch", name, ...entry };
}

/** `usage`: name and placeholder, as `port <number>`. `fallback`: the default as a user would write it. */
export function value<T>(
  usage: string,
  parse: (text: string) => T,
  { fallback: text, ...entry }: Entry<ValueOption<T>> & { readonly fallback: string },
): ValueOption<T> {
  const fallback = { fallback: parse(text), fallbackText: text };
  return { ...SERVER, shape: "value", ...named(usage), parse, ...fallback, ...entry };
}

export function optional<T>(
  usage: string,
  parse: (text: string) => T,
  entry: Entry<ValueOption<T>> & { readonly fallbackText?: string },
): ValueOption<T | undefined> {
  const fallback = { fallback: undefined, fallbackText: "" };
  return { ...SERVER, shape: "value", ...named(usage), parse, ...fallback, ...entry };
}

export function list<T>(
  usage: string,
  parse: (text: string) => T,
  entry: Entry<ListOption<T>>,
): ListOption<T> {
  return { ...SERVER, shape: "list", ...named(usage), parse, ...entry };
}

export function file<T>(
  name: string,
  parse: (bytes: Uint8Array) => T,
  entry: Entry<FileOption<T>>,
): FileOption<T> {
  return { ...SERVER, shape: "file", name, parse, ...entry };
}

export function secret(name: string, entry: Entry<SecretOption>): SecretOption {
  return { ...SERVER, shape: "secret", name, ...entry };
}

function named(usage: string): { readonly name: string; readonly placeholder: string } {
  const [name = "", placeholder = ""] = usage.split(" ");
  return { name, placeholder: placeholder.slice(1, -1) };
}

export type Spelling = {
  /** With its dashes. */
  readonly flag: string | undefined;
  /** Name of the flag's value in the help; `undefined` for a switch. */
  readonly placeholder: string | undefined;
  readonly variable: string;
  readonly key: string;
  /** The text is a path, of the file that holds a secret or of something else. */
  readonly isPath: boolean;
};

/** A secret has two spellings: itself, and the path of its file. Every other option has one. */
export function spellingsOf(option: Option): readonly [Spelling, ...Spelling[]] {
  const { name: key, hasFlag } = option;
  const variable = option.env ?? `TTYHQ_${key.replaceAll("-", "_").toUpperCase()}`;
  const flag = hasFlag === false ? undefined : `--${key}`;
  const isPath = option.shape === "file" || (option.shape === "value" && option.isPath === true);
  const plain = { flag, variable, key, isPath };
  if (option.shape === "switch") return [{ ...plain, placeholder: undefined }];
  if (option.shape === "file") return [{ ...plain, placeholder: "path" }];
  if (option.shape !== "secret") return [{ ...plain, placeholder: option.placeholder }];
  const file = { variable: `${variable}_FILE`, key: `${key}-file`, isPath: true };
  return [
    { ...plain, flag: option.hasPlainFlag ? flag : undefined, placeholder: "value" },
    { ...file, flag: flag && `${flag}-file`, placeholder: "path" },
  ];
}

/** The flag that help and messages recommend; `undefined` for an option without a flag. */
export function flagOf(option: Option): string | undefined {
  return spellingsOf(option).at(-1)?.flag;
}

export function envOf(option: Option): string {
  return spellingsOf(option)[0].variable;
}

/** How messages name an option that is missing. */
export function titleOf(option: Option): string {
  return spellingsOf(option).find(({ flag }) => flag !== undefined)?.flag ?? envOf(option);
}
