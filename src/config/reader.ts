import { Secret } from "../lib/secret.ts";
import { type Flags, flagTexts, plainFlagTexts } from "./flags.ts";
import {
  envOf,
  type FileOption,
  fileEnvOf,
  flagOf,
  type ListOption,
  type Option,
  plainFlagOf,
  type SecretOption,
  type SwitchOption,
  type ValueOption,
} from "./option.ts";
import { isTrue } from "./value.ts";

/** Where options come from. */
export type Sources = {
  readonly flags: Flags;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** The bytes of a file; throws when there are none to be had. */
  readonly readFile: (path: string) => Uint8Array;
};

type Given = { readonly text: string; readonly from: string };
type GivenBytes = { readonly bytes: Uint8Array; readonly from: string };

/**
 * Reads options: a flag wins over a variable, a variable over the default. What is wrong is noted among the problems
 * and the default taken, so that one start tells everything that is wrong.
 */
export class OptionReader {
  readonly #sources: Sources;
  /** Each told once, however often an option is looked at. */
  readonly #problems = new Set<string>();
  readonly #warnings = new Set<string>();

  constructor(sources: Sources) {
    this.#sources = sources;
  }

  get problems(): readonly string[] {
    return [...this.#problems];
  }

  get warnings(): readonly string[] {
    return [...this.#warnings];
  }

  /** Notes a problem: a sentence with the way out. */
  refuse(problem: string): void {
    this.#problems.add(problem);
  }

  /** Notes something that can be done, but is better known. */
  warn(warning: string): void {
    this.#warnings.add(warning);
  }

  /** The flag or variable that an option was given by, whether or not it is right; `undefined` for none. */
  sourceOf(option: Option): string | undefined {
    const { flags } = this.#sources;
    if (plainFlagTexts(flags, option).length > 0) return plainFlagOf(option);
    if (flagTexts(flags, option).length > 0) return flagOf(option);
    const names = option.shape === "secret" ? [envOf(option), fileEnvOf(option)] : [envOf(option)];
    return names.find((name) => this.#env(name) !== undefined);
  }

  isOn(option: SwitchOption): boolean {
    const given = this.#given(option);
    return given === undefined ? false : this.#parse(given, isTrue, false);
  }

  value<T>(option: ValueOption<T>): T {
    const given = this.#given(option);
    return given === undefined ? option.fallback : this.#parse(given, option.parse, option.fallback);
  }

  list<T>(option: ListOption<T>): readonly T[] {
    const flag = flagOf(option) ?? "";
    const texts = flagTexts(this.#sources.flags, option);
    const items =
      texts.length > 0 ? texts.map((text) => ({ text, from: flag })) : this.#envItems(envOf(option));
    return items.flatMap((item) => this.#parse(item, (text) => [option.parse(text)], []));
  }

  /** What a file holds; `undefined` when none was given, or it is not right. */
  file<T>(option: FileOption<T>): T | undefined {
    const given = this.#given(option);
    const file = given && this.#fileBytes(given);
    if (file === undefined) return undefined;
    try {
      return option.parse(file.bytes);
    } catch (error) {
      if (!(error instanceof RangeError)) throw error;
      this.refuse(`${file.from}: the file ${error.message}`);
      return undefined;
    }
  }

  secret(option: SecretOption): Secret | undefined {
    const given = this.#secretBytes(option);
    if (given === undefined) return undefined;
    if (given.bytes.length < option.minBytes) {
      const { length } = given.bytes;
      this.refuse(`${given.from}: has ${length} bytes, must have at least ${option.minBytes}`);
    }
    return new Secret(given.bytes);
  }

  #secretBytes(option: SecretOption): GivenBytes | undefined {
    const { flags } = this.#sources;
    const plain = givenBy(plainFlagOf(option), plainFlagTexts(flags, option));
    if (plain !== undefined && option.isSecret?.(plain.text) !== false)
      this.#warnOfVisible(option, plain.from);
    const path = givenBy(flagOf(option), flagTexts(flags, option));
    if (plain !== undefined || path !== undefined) return this.#secretFrom(plain, path);
    return this.#secretFrom(this.#env(envOf(option)), this.#env(fileEnvOf(option)));
  }

  /** From the text of a secret or from the path of a file with it. */
  #secretFrom(inline: Given | undefined, path: Given | undefined): GivenBytes | undefined {
    if (inline !== undefined && path !== undefined) {
      this.refuse(`${inline.from} and ${path.from} are both set: set one of them`);
      return undefined;
    }
    if (path === undefined)
      return inline && { bytes: new TextEncoder().encode(inline.text), from: inline.from };
    const file = this.#fileBytes(path);
    return file && { ...file, bytes: withoutNewline(file.bytes) };
  }

  #warnOfVisible(option: SecretOption, flag: string): void {
    this.warn(
      `${flag}: other users of this machine can see it in the list of processes; give ${flagOf(option)} or ${envOf(option)} instead`,
    );
  }

  #fileBytes({ text, from }: Given): GivenBytes | undefined {
    try {
      return { bytes: this.#sources.readFile(text), from };
    } catch (error) {
      const reason = error instanceof Error ? error.message : String(error);
      this.refuse(`${from}: cannot read the file: ${reason}`);
      return undefined;
    }
  }

  #given(option: Option): Given | undefined {
    return givenBy(flagOf(option), flagTexts(this.#sources.flags, option)) ?? this.#env(envOf(option));
  }

  #envItems(name: string): readonly Given[] {
    const items = this.#env(name)?.text.split(",") ?? [];
    return items
      .map((item) => item.trim())
      .filter((text) => text !== "")
      .map((text) => ({ text, from: name }));
  }

  /** An empty variable is none: that is how compose files write one that is not set. */
  #env(name: string): Given | undefined {
    const text = this.#sources.env[name];
    // Kubernetes sets NAME_PORT=tcp://… in every pod for a service of that name, so TTYHQ_PORT for `ttyhq`.
    if (name.endsWith("_PORT") && text?.startsWith("tcp://")) return undefined;
    if (text === undefined || text === "") return undefined;
    return { text, from: name };
  }

  #parse<T>({ text, from }: Given, parse: (text: string) => T, fallback: T): T {
    try {
      return parse(text);
    } catch (error) {
      if (!(error instanceof RangeError)) throw error;
      this.refuse(`${from}: ${error.message}, not ${JSON.stringify(text)}`);
      return fallback;
    }
  }
}

/** The last one counts. */
function givenBy(flag: string | undefined, texts: readonly string[]): Given | undefined {
  const text = texts.at(-1);
  return flag === undefined || text === undefined ? undefined : { text, from: flag };
}

/** Editors and `echo` end a file with a newline that is no part of the secret. */
function withoutNewline(bytes: Uint8Array): Uint8Array {
  if (bytes.at(-1) !== 0x0a) return bytes;
  return bytes.subarray(0, bytes.at(-2) === 0x0d ? -2 : -1);
}
