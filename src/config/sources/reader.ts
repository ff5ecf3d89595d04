import { Secret } from "../../lib/secret.ts";
import {
  envOf,
  type FileOption,
  flagOf,
  type ListOption,
  type Option,
  type SecretOption,
  type SwitchOption,
  type ValueOption,
} from "../options/option.ts";
import { isTrue } from "../options/value.ts";
import { absolutePath, type Given, givenFor, type Sources } from "./given.ts";
import { type Source, sourceName } from "./source.ts";

/** One text that was given. */
type GivenText = { readonly text: string; readonly source: Source };
type GivenBytes = { readonly bytes: Uint8Array; readonly from: string };

/** What an option is because of another one. */
export type Implied = { readonly text: string; readonly because: string };

/**
 * Reads options: a flag wins over a variable, a variable over the configuration file, that over the default. What is
 * wrong is noted among the problems and the default taken, so that one start tells everything that is wrong.
 */
export class OptionReader {
  readonly #sources: Sources;
  /** Each told once, however often an option is looked at. */
  readonly #problems: Set<string>;
  readonly #warnings = new Set<string>();
  readonly #implied = new Map<Option, Implied>();

  constructor(sources: Sources) {
    this.#sources = sources;
    this.#problems = new Set(sources.file?.problems);
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

  /** Notes what an option is because of another one, for those who ask where it comes from. */
  imply(option: Option, implied: Implied): void {
    this.#implied.set(option, implied);
  }

  impliedFor(option: Option): Implied | undefined {
    return this.#implied.get(option);
  }

  /** What was given for an option, whether or not it is right. */
  givenFor(option: Option): readonly Given[] {
    return givenFor(option, this.#sources);
  }

  /** What an option was given by, as sentences begin with it; `undefined` where the default holds. */
  sourceOf(option: Option): string | undefined {
    const [given] = this.givenFor(option);
    return given && sourceName(given.source);
  }

  isOn(option: SwitchOption): boolean {
    const given = this.#last(option);
    return given === undefined ? false : this.#parse(given, isTrue, false);
  }

  value<T>(option: ValueOption<T>): T {
    const given = this.#last(option);
    return given === undefined ? option.fallback : this.#parse(given, option.parse, option.fallback);
  }

  /** A path that an option has, made absolute: relative to where it was given. */
  absolute(option: Option, path: string): string {
    const [given] = this.givenFor(option);
    return absolutePath(path, given?.source ?? { kind: "default" }, this.#sources);
  }

  list<T>(option: ListOption<T>): readonly T[] {
    return this.givenFor(option).flatMap(({ texts, source }) =>
      texts.flatMap((text) => this.#parse({ text, source }, (item) => [option.parse(item)], [])),
    );
  }

  /** What a file holds; `undefined` when none was given, or it is not right. */
  file<T>(option: FileOption<T>): T | undefined {
    const given = this.#last(option);
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
    const [given, other] = this.givenFor(option);
    const text = given?.texts.at(-1);
    if (given === undefined || text === undefined) return undefined;
    const from = sourceName(given.source);
    const isVisible = given.source.kind === "flag" && !given.isInFile;
    if (isVisible && option.isSecret?.(text) !== false) this.#warnOfVisible(option, from);
    if (other !== undefined) {
      this.refuse(`${from} and ${sourceName(other.source)} are both set: set one of them`);
      return undefined;
    }
    if (!given.isInFile) return { bytes: new TextEncoder().encode(text), from };
    const file = this.#fileBytes({ text, source: given.source });
    return file && { ...file, bytes: withoutNewline(file.bytes) };
  }

  #warnOfVisible(option: SecretOption, flag: string): void {
    this.warn(
      `${flag}: other users of this machine can see it in the list of processes; give ${flagOf(option)} or ${envOf(option)} instead`,
    );
  }

  #fileBytes({ text, source }: GivenText): GivenBytes | undefined {
    const from = sourceName(source);
    try {
      return { bytes: this.#sources.readFile(absolutePath(text, source, this.#sources)), from };
    } catch (error) {
      const reason = error instanceof Error ? error.message : String(error);
      this.refuse(`${from}: cannot read the file: ${reason}`);
      return undefined;
    }
  }

  #last(option: Option): GivenText | undefined {
    const [given] = this.givenFor(option);
    const text = given?.texts.at(-1);
    return given === undefined || text === undefined ? undefined : { text, source: given.source };
  }

  #parse<T>({ text, source }: GivenText, parse: (text: string) => T, fallback: T): T {
    try {
      return parse(text);
    } catch (error) {
      if (!(error instanceof RangeError)) throw error;
      this.refuse(`${sourceName(source)}: ${error.message}, not ${JSON.stringify(text)}`);
      return fallback;
    }
  }
}

/** Editors and `echo` end a file with a newline that is no part of the secret. */
function withoutNewline(bytes: Uint8Array): Uint8Array {
  if (bytes.at(-1) !== 0x0a) return bytes;
  return bytes.subarray(0, bytes.at(-2) === 0x0d ? -2 : -1);
}
