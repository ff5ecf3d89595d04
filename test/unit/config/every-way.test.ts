// An option has the same value whether a flag, a variable or a file gives it.
import * as fc from "fast-check";
import { expect, test } from "vitest";
import { stringify } from "yaml";
import { type Config, parseConfig } from "../../../src/config/config.ts";
import { ConfigError } from "../../../src/config/config-error.ts";
import { envOf, flagOf, type Option, spellingsOf } from "../../../src/config/options/option.ts";
import { OPTIONS, optionsFor } from "../../../src/config/options/options.ts";
import { Secret } from "../../../src/lib/secret.ts";
import { input } from "./command-line.ts";
import { configFile } from "./yaml-file.ts";

/** Valid and invalid texts of an option. None has a space, because command-line.ts splits words there. */
const TEXTS = fc.oneof(
  fc.constantFrom(
    "0",
    "1",
    "08",
    "65535",
    "true",
    "no",
    "1e3",
    "~",
    "~/x",
    "x/y",
    "/x",
    "jwt",
    "a",
    "*",
    "null",
    "[a]",
    "#",
    "'",
    "\\n",
    "é",
  ),
  fc.constantFrom(
    "apart",
    "inline",
    "external",
    "json",
    "10.0.0.0/8",
    "[::1]:81",
    "localhost",
    "1GiB",
    "openid",
  ),
  fc.constantFrom(
    "https://a.example",
    "http://b:81",
    "/run/secrets/password",
    "s".repeat(32),
    "redis://redis",
  ),
  fc.stringMatching(/^[!-~]{1,12}$/).filter((text) => !text.startsWith("-")),
);
/** A variable separates the items of a list by commas. */
const ITEMS = fc.array(
  TEXTS.filter((text) => !text.includes(",")),
  { minLength: 1, maxLength: 3 },
);

type Ways = {
  readonly flags: string;
  readonly env: Record<string, string>;
  readonly file: Record<string, unknown>;
};

const OF_SERVER = optionsFor("server").filter((option) => option !== OPTIONS.config);

function waysOf(option: Option): fc.Arbitrary<Ways> {
  if (option.shape === "switch") {
    // A flag can only turn it on.
    return fc.constant({
      flags: `${flagOf(option)}`,
      env: { [envOf(option)]: "true" },
      file: { [option.name]: true },
    });
  }
  if (option.shape === "list") {
    return ITEMS.map((items) => ({
      flags: items.map((item) => `${flagOf(option)} ${item}`).join(" "),
      env: { [envOf(option)]: items.join(",") },
      file: { [option.name]: items },
    }));
  }
  if (option.shape !== "secret") {
    return TEXTS.map((text) => ({
      flags: `${flagOf(option)} ${text}`,
      env: { [envOf(option)]: text },
      file: { [option.name]: text },
    }));
  }
  return fc.constantFrom("jwt", "/run/secrets/password", "none").map((path) => ({
    flags: `${flagOf(option)} ${path}`,
    env: { [`${envOf(option)}_FILE`]: path },
    file: { [`${option.name}-file`]: path },
  }));
}

/** The configuration with its secrets, or the problems without the names of sources. */
function result(parse: () => Config): unknown {
  try {
    return revealed(parse());
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    return error.problems.map(withoutSource);
  }
}

const NAMES = OF_SERVER.flatMap((option) => [
  ...spellingsOf(option).flatMap(({ key }) => [
    `config\\.yaml:\\d+:\\d+: ${key}(?![a-z-])`,
    `--${key}(?![a-z-])`,
  ]),
  ...[`${envOf(option)}_FILE`, envOf(option)].map((name) => `${name}(?![A-Z_])`),
]);
const SOURCE = new RegExp(NAMES.toSorted((a, b) => b.length - a.length).join("|"), "g");

function withoutSource(sentence: string): string {
  return sentence.replace(SOURCE, "IT");
}

function revealed(value: unknown): unknown {
  if (value instanceof Secret) return new TextDecoder().decode(value.bytes());
  if (Array.isArray(value)) return value.map(revealed);
  if (typeof value !== "object" || value === null || ArrayBuffer.isView(value)) return value;
  const entries = Object.entries(value).map(([key, member]) => [key, revealed(member)]);
  const { warnings, ...rest } = Object.fromEntries(entries);
  return Array.isArray(warnings)
    ? { ...rest, warnings: warnings.map((each) => withoutSource(String(each))) }
    : { ...rest };
}

test.each(
  OF_SERVER.filter((option) => flagOf(option) !== undefined).map((option) => [option.name, option] as const),
)("%s is the same by flag, by variable and by file", (_, option) =>
  fc.assert(
    fc.property(waysOf(option), ({ flags, env, file }) => {
      const byFlag = result(() => parseConfig(input(flags)));
      expect(result(() => parseConfig(input("", env)))).toEqual(byFlag);
      expect(result(() => parseConfig({ ...input(""), file: configFile(stringify(file)) }))).toEqual(byFlag);
    }),
    { numRuns: 25 },
  ),
);

test("options together give the same configuration by whichever source each is given", () => {
  const given = fc
    .uniqueArray(fc.constantFrom(...OF_SERVER.filter((option) => flagOf(option) !== undefined)), {
      maxLength: 8,
    })
    .chain((options) => fc.tuple(...options.map((option) => fc.tuple(waysOf(option), fc.nat(2)))));
  return fc.assert(
    fc.property(given, (all) => {
      const flags = all.map(([ways]) => ways.flags).join(" ");
      const mixed = {
        flags: all.flatMap(([ways, way]) => (way === 0 ? [ways.flags] : [])).join(" "),
        env: Object.assign({}, ...all.map(([ways, way]) => (way === 1 ? ways.env : {}))),
        file: Object.assign({}, ...all.map(([ways, way]) => (way === 2 ? ways.file : {}))),
      };
      const file = configFile(stringify(mixed.file));
      expect(result(() => parseConfig({ ...input(mixed.flags, mixed.env), file }))).toEqual(
        result(() => parseConfig(input(flags))),
      );
    }),
    { numRuns: 300 },
  );
});
