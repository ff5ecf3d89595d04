import { Secret } from "../lib/secret.ts";
import { type Flags, flagTexts } from "./flags.ts";
import {
  envOf,
  fileEnvOf,
  flagOf,
  type ListOption,
  type Option,
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

/**
 * Reads options: a flag wins over a variable, a variable over the default. What is wrong is noted among the problems
 * and the default taken, so that one start tells everything that is wrong.
 */
export class OptionReader {
  readonly #sources: Sources;
  readonly #problems: string[] = [];

  constructor(sources: Sources) {
    this.#sources = sources;
  }

  get problems(): readonly string[] {
    return this.#problems;
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

  secret(option: SecretOption): Secret | undefined {
    const given = this.#secretBytes(option);
    if (given === undefined) return undefined;
    if (given.bytes.length < option.minBytes) {
      const { length } = given.bytes;
      this.#problems.push(`${given.from}: has ${length} bytes, must have at least ${option.minBytes}`);
    }
    return new Secret(given.bytes);
  }

  #secretBytes(option: SecretOption): { readonly bytes: Uint8Array; readonly from: string } | undefined {
    const flag = flagTexts(this.#sources.flags, option).at(-1);
    if (flag !== undefined) return this.#fileBytes({ text: flag, from: flagOf(option) ?? "" });
    const inline = this.#env(envOf(option));
    const file = this.#env(fileEnvOf(option));
    if (inline !== undefined && file !== undefined) {
      this.#problems.push(`${inline.from} and ${file.from} are both set: set one of them`);
      return undefined;
    }
    if (file !== undefined) return this.#fileBytes(file);
    return inline && { bytes: new TextEncoder().encode(inline.text), from: inline.from };
  }

  #fileBytes({ text, from }: Given): { readonly bytes: Uint8Array; readonly from: string } | undefined {
    try {
      return { bytes: withoutNewline(this.#sources.readFile(text)), from };
    } catch (error) {
      const reason = error instanceof Error ? error.message : String(error);
      this.#problems.push(`${from}: cannot read the file: ${reason}`);
      return undefined;
    }
  }

  #given(option: Option): Given | undefined {
    const text = flagTexts(this.#sources.flags, option).at(-1);
    return text === undefined ? this.#env(envOf(option)) : { text, from: flagOf(option) ?? "" };
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
      this.#problems.push(`${from}: ${error.message}, not ${JSON.stringify(text)}`);
      return fallback;
    }
  }
}

/** Editors and `echo` end a file with a newline that is no part of the secret. */
function withoutNewline(bytes: Uint8Array): Uint8Array {
  if (bytes.at(-1) !== 0x0a) return bytes;
  return bytes.subarray(0, bytes.at(-2) === 0x0d ? -2 : -1);
}
