// Names that this project does not use, and the field's word for each: STYLE.md, "Terminology". docs/glossary.md explains the words.
import { posix } from "node:path";
import type { Mention, Source } from "./source.ts";

type Term = {
  /** Whole words of an identifier or a file name, in lower case: "turns" is in `#turnsOf` and in `user-turns.ts`. */
  readonly words?: readonly string[];
  /** Whole identifiers, where the word by itself is fine in longer ones. */
  readonly identifiers?: readonly string[];
  /** Folders in which the term counts; everywhere without it. */
  readonly in?: readonly string[];
  readonly use: string;
};

const HQ = ["src/hq/", "test/unit/hq/", "test/integration/hq/"];
const GIT = [
  "src/git/",
  "src/repositories/",
  "test/unit/git/",
  "test/unit/repositories/",
  "test/integration/git/",
];

export const TERMS: readonly Term[] = [
  { words: ["member", "members", "guest", "guests", "machine", "machines"], in: HQ, use: "remote" },
  { identifiers: ["Member", "Guest", "RemoteBackend"], use: "Remote or RemoteConnection" },
  { words: ["silence", "silences"], use: "the state of a remote, or RecoveryProbe" },
  { identifiers: ["returns", "away"], use: "the state of a remote, or RecoveryProbe" },
  { words: ["ledger", "ledgers"], use: "registry store" },
  { words: ["enrol", "enrols", "enrolled", "enrolment", "enrolments"], use: "registration" },
  { words: ["deed", "deeds"], use: "permission or audit action" },
  { words: ["witness", "witnesses", "witnessed"], use: "audit hook" },
  { identifiers: ["Watch"], use: "AuditHook" },
  { words: ["turns", "slots"], use: "mutex, keyed mutex or semaphore" },
  { identifiers: ["shared", "KeyedQuestions"], use: "singleFlight or KeyedSingleFlight" },
  { words: ["door", "doors"], use: "listener" },
  { words: ["surroundings"], use: "context" },
  { words: ["figure", "figures"], use: "metric" },
  { words: ["picture", "pictures"], use: "avatar" },
  { words: ["fact", "facts"], use: "status, health or the thing's own name" },
  { words: ["bring", "brings", "bringing"], use: "fast-forward" },
  { words: ["park", "parks", "parked", "parking"], use: "detach" },
  { identifiers: ["join", "joined", "part"], in: GIT, use: "check out or release" },
  { words: ["contact", "contacts"], use: "reachability" },
  { identifiers: ["Present", "present"], use: "live edge" },
  { words: ["pursuit", "pursuits"], use: "catch-up" },
  { identifiers: ["Reading", "reading", "readings"], use: "refresher, or the value's own name" },
  { words: ["coupling", "couplings"], use: "terminal attachment" },
  { words: ["farewell", "farewells"], use: "exit notice" },
  { words: ["mirage", "mirages"], use: "phantom repository" },
  { words: ["plant", "plants", "planted"], use: "create" },
  { identifiers: ["past", "Past"], use: "history" },
  { identifiers: ["sendAway"], use: "drain" },
  { words: ["look", "looks", "looked", "looking"], use: "check" },
];

/** Names with a word of the table that are right, and why. */
export const EXCEPTIONS: readonly { readonly name: RegExp; readonly why: string }[] = [
  { name: /^join$/, why: "`join` of node:path" },
  {
    name: /enrolment[-_]?codes?/i,
    why: "an enrolment code is the API's word for the code that a first passkey needs",
  },
  { name: /^enrolled(At)?$/, why: "fields of the API: a join token enrolls a key" },
  { name: /^(picture|PICTURE_URL)$/, why: "the claim of OpenID Connect, and a word of macOS' directory" },
  { name: /^Picture$/, why: "the attribute of macOS' directory" },
  {
    name: /look-?(up|ups|ahead)$|look-?(up|ups|ahead)[-_A-Z]/i,
    why: "to look up and to look ahead are terms",
  },
];

/** One line for each declared name and each file that uses a word of the table. */
export function terminology(sources: readonly Source[]): string[] {
  return sources.flatMap(({ path, declarations }) =>
    [{ what: fileName(path), line: 1 }, ...declarations].flatMap((declared) => refuse(path, declared)),
  );
}

function refuse(path: string, { what, line }: Mention): string[] {
  if (EXCEPTIONS.some(({ name }) => name.test(what))) return [];
  const words = wordsOf(what);
  const term = TERMS.find(
    (each) =>
      (each.in?.some((place) => path.startsWith(place)) ?? true) &&
      (each.identifiers?.includes(what) || each.words?.some((word) => words.includes(word))),
  );
  return term === undefined ? [] : [`${path}:${line} names ${what}: use ${term.use} (STYLE.md, Terminology)`];
}

function wordsOf(name: string): readonly string[] {
  return name
    .replace(/([a-z0-9])([A-Z])/g, "$1-$2")
    .replace(/([A-Z])([A-Z][a-z])/g, "$1-$2")
    .toLowerCase()
    .split(/[-_#$.]+/);
}

function fileName(path: string): string {
  return posix.basename(path).replace(/(\.test|\.d)?\.tsx?$/, "");
}
