// What an option is; the options themselves stand in options.ts.

/** The commands that take an option. */
export type Role = "server" | "session-host";

type Common = {
  /** In kebab case; the flag and the variable are derived from it. */
  readonly name: string;
  /** One or more sentences, shown in the help and in docs/options.md. */
  readonly prose: string;
  readonly roles: readonly Role[];
  /** The environment variable, where it is not the derived one. */
  readonly env?: string;
  /** False: there is no flag, only the variable. */
  readonly hasFlag?: false;
};

/** On or off; off when nothing is said. */
export type SwitchOption = Common & { readonly shape: "switch" };

export type ValueOption<T> = Common & {
  readonly shape: "value";
  /** How the help calls the value. */
  readonly placeholder: string;
  /** Throws RangeError "must be …" for a text that is no such value. */
  readonly parse: (text: string) => T;
  readonly fallback: T;
  /** The default as one would write it; "" for none. */
  readonly fallbackText: string;
  /** A path: relative to the working directory, or to the directory of the configuration file that it stands in. */
  readonly isPath?: true;
};

/** May be given several times; in the environment as a list with commas, in a configuration file as a list. */
export type ListOption<T> = Common & {
  readonly shape: "list";
  readonly placeholder: string;
  /** Parses one item, as for a value. */
  readonly parse: (text: string) => T;
};

/** The path of a file whose bytes are what is given. */
export type FileOption<T> = Common & {
  readonly shape: "file";
  /** Throws RangeError "must hold …" for bytes that are no such value. */
  readonly parse: (bytes: Uint8Array) => T;
};

/** `--NAME-file`, the variable, or the variable `…_FILE`; in a configuration file `NAME`, or `NAME-file`. */
export type SecretOption = Common & {
  readonly shape: "secret";
  readonly minBytes: number;
  /** True: `--NAME VALUE` is taken, too, with a warning, because other users of the machine can see it. */
  readonly hasPlainFlag?: true;
  /** Whether such a value has anything to hide; otherwise there is no warning. Without this it always has. */
  readonly isSecret?: (text: string) => boolean;
};

export type Option =
  | SwitchOption
  | ValueOption<unknown>
  | ListOption<unknown>
  | FileOption<unknown>
  | SecretOption;

export function toggle(option: Omit<SwitchOption, "shape">): SwitchOption {
  return { shape: "switch", ...option };
}

export function value<T>(option: Omit<ValueOption<T>, "shape">): ValueOption<T> {
  return { shape: "value", ...option };
}

export function file<T>(option: Omit<FileOption<T>, "shape">): FileOption<T> {
  return { shape: "file", ...option };
}

export function list<T>(option: Omit<ListOption<T>, "shape">): ListOption<T> {
  return { shape: "list", ...option };
}

export function secret(option: Omit<SecretOption, "shape">): SecretOption {
  return { shape: "secret", ...option };
}

/** The long flag, dashes included; `undefined` for an option of the environment alone. */
export function flagOf(option: Option): string | undefined {
  if (option.hasFlag === false) return undefined;
  return option.shape === "secret" ? `--${option.name}-file` : `--${option.name}`;
}

/** The flag that takes a secret itself, where there is one. */
export function plainFlagOf(option: Option): string | undefined {
  return option.shape === "secret" && option.hasPlainFlag === true ? `--${option.name}` : undefined;
}

/** What to call an option that was not given: the flag that one would write, or the variable. */
export function titleOf(option: Option): string {
  return plainFlagOf(option) ?? flagOf(option) ?? envOf(option);
}

/** How the help calls what comes after the flag; `undefined` for a switch. */
export function placeholderOf(option: Option): string | undefined {
  if (option.shape === "switch") return undefined;
  return option.shape === "secret" || option.shape === "file" ? "path" : option.placeholder;
}

export function envOf(option: Option): string {
  return option.env ?? `TTYHQ_${option.name.replaceAll("-", "_").toUpperCase()}`;
}

/** The variable that names a file with the secret. */
export function fileEnvOf(option: SecretOption): string {
  return `${envOf(option)}_FILE`;
}

/** The names of an option in a configuration file. */
export function keysOf(option: Option): readonly string[] {
  return option.shape === "secret" ? [option.name, fileKeyOf(option)] : [option.name];
}

/** The name in a configuration file for the path of a file with the secret. */
export function fileKeyOf(option: SecretOption): string {
  return `${option.name}-file`;
}
