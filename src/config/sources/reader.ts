import { Secret } from "../../lib/secret.ts";
import { errorMessage } from "../../protocol/errors.ts";
import {
  envOf,
  type FileOption,
  flagOf,
  type ListOption,
  type Option,
  type SecretOption,
  type SwitchOption,
  titleOf,
  type ValueOption,
} from "../options/option.ts";
import { isTrue } from "../options/value.ts";
import { absolutePath, type Given, givenFor, type Sources, sourceName } from "./given.ts";

type GivenText = Omit<Given, "texts"> & { readonly text: string };

/** The value that an option has because of another one. */
type Implied = { readonly text: string; readonly because: string };

/** Invalid values become problems and count as the default, so that one start reports every problem. */
export class OptionReader {
  readonly #sources: Sources;
  /** Each once, however often an option is read. */
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

  refuse(problem: string): void {
    this.#problems.add(problem);
  }

  /** Refuses each of these options that was given; a switch that is off was not. */
  refuseGiven(options: readonly Option[], why: string): void {
    for (const option of options) {
      if (option.shape === "switch" && !this.isOn(option)) continue;
      const source = this.sourceOf(option);
      if (source !== undefined) this.refuse(`${source} is ${why}`);
    }
  }

  /** Refuses some of these options without the others. */
  refuseIncomplete(options: readonly Option[], why: string): void {
    const sources = this.sourcesOf(options);
    const missing = options.filter((option) => this.sourceOf(option) === undefined).map(titleOf);
    if (sources.length === 0 || missing.length === 0) return;
    const set = `${sources.join(" and ")} ${sources.length > 1 ? "are" : "is"} set`;
    this.refuse(`${set} without ${missing.join(" and ")}: ${why}`);
  }

  warn(warning: string): void {
    this.#warnings.add(warning);
  }

  imply(option: Option, implied: Implied): void {
    this.#implied.set(option, implied);
  }

  impliedFor(option: Option): Implied | undefined {
    return this.#implied.get(option);
  }

  /** The texts given for an option, valid or not; paths are absolute. */
  givenFor(option: Option): readonly Given[] {
    return givenFor(option, this.#sources).map((given) => {
      const absolute = (text: string): string => absolutePath(text, given.source, this.#sources);
      return given.isPath ? { ...given, texts: given.texts.map(absolute) } : given;
    });
  }

  /** The source of an option, as messages begin with it; `undefined` if the default applies. */
  sourceOf(option: Option): string | undefined {
    const [given] = this.givenFor(option);
    return given && sourceName(given.source);
  }

  /** The sources of those that were given. */
  sourcesOf(options: readonly Option[]): readonly string[] {
    return options.map((option) => this.sourceOf(option)).filter((source) => source !== undefined);
  }

  isOn(option: SwitchOption): boolean {
    const given = this.#last(option);
    return given !== undefined && this.#parse(given, isTrue, false);
  }

  /** Paths are absolute. */
  value<T>(option: ValueOption<T>): T {
    const { fallback, isPath, parse } = option;
    const given = this.#last(option);
    if (given !== undefined) return this.#parse(given, parse, fallback);
    const isDefaultPath = isPath === true && typeof fallback === "string";
    return isDefaultPath ? parse(absolutePath(fallback, { kind: "default" }, this.#sources)) : fallback;
  }

  list<T>(option: ListOption<T>): readonly T[] {
    return this.givenFor(option).flatMap((given) =>
      given.texts.flatMap((text) => this.#parse({ ...given, text }, (item) => [option.parse(item)], [])),
    );
  }

  /** The parsed content of a file; `undefined` if none was given or it is invalid. */
  file<T>(option: FileOption<T>): T | undefined {
    const given = this.#last(option);
    const bytes = given && this.#fileBytes(given);
    if (given === undefined || bytes === undefined) return undefined;
    try {
      return option.parse(bytes);
    } catch (error) {
      if (!(error instanceof RangeError)) throw error;
      this.refuse(`${sourceName(given.source)}: the file ${error.message}`);
      return undefined;
    }
  }

  secret(option: SecretOption): Secret | undefined {
    const given = this.#last(option);
    const [, other] = this.givenFor(option);
    if (given === undefined) return undefined;
    const from = sourceName(given.source);
    const isVisible = given.source.kind === "flag" && !given.isPath;
    if (isVisible && option.isSecret?.(given.text) !== false) {
      this.warn(
        `${from}: other users of this machine can see it in the list of processes; give ${flagOf(option)} or ${envOf(option)} instead`,
      );
    }
    if (other !== undefined) {
      this.refuse(`${from} and ${sourceName(other.source)} are both set: set one of them`);
      return undefined;
    }
    const bytes = given.isPath
      ? withoutNewline(this.#fileBytes(given))
      : new TextEncoder().encode(given.text);
    if (bytes !== undefined && bytes.length < option.minBytes) {
      this.refuse(`${from}: has ${bytes.length} bytes, must have at least ${option.minBytes}`);
    }
    return bytes && new Secret(bytes);
  }

  #fileBytes({ text, source }: GivenText): Uint8Array | undefined {
    try {
      return this.#sources.readFile(text);
    } catch (error) {
      const reason = errorMessage(error);
      this.refuse(`${sourceName(source)}: cannot read the file: ${reason}`);
      return undefined;
    }
  }

  #last(option: Option): GivenText | undefined {
    const [given] = this.givenFor(option);
    const text = given?.texts.at(-1);
    return given === undefined || text === undefined ? undefined : { ...given, text };
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

/** Editors and `echo` end a file with a newline that is not part of the secret. */
function withoutNewline(bytes: Uint8Array | undefined): Uint8Array | undefined {
  if (bytes?.at(-1) !== 0x0a) return bytes;
  return bytes.subarray(0, bytes.at(-2) === 0x0d ? -2 : -1);
}
