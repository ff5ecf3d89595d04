// Filter and order of the list of sessions.
import { computed, type ReadonlySignal, type Signal, signal } from "@preact/signals";
import { LOCAL } from "../../protocol/schemas/remote.ts";
import type { SessionRecord } from "../../protocol/schemas/session.ts";
import type { Choices, ListOrder } from "../preferences.ts";
import { commandWords } from "../session/words.ts";

export type StateFilter = "all" | "running" | "ended";

export type ListFilterOptions = {
  readonly all: ReadonlySignal<readonly SessionRecord[] | undefined>;
  readonly preferences: { readonly current: ReadonlySignal<Pick<Choices, "order">> };
};

export class ListFilter {
  /** Words that a session must contain, in any order. */
  readonly text: Signal<string> = signal("");
  readonly state: Signal<StateFilter> = signal("all");
  /** The time of each session's last output, as far as it was requested. */
  readonly #activity = signal<ReadonlyMap<string, string>>(new Map());
  readonly #options: ListFilterOptions;

  constructor(options: ListFilterOptions) {
    this.#options = options;
  }

  readonly isOn: ReadonlySignal<boolean> = computed(
    () => this.text.value.trim() !== "" || this.state.value !== "all",
  );

  /** Undefined until the list was read for the first time. In the order of the list on the page. */
  readonly shown: ReadonlySignal<readonly SessionRecord[] | undefined> = computed(() => {
    const { all, preferences } = this.#options;
    const [words, state] = [wordsOf(this.text.value), this.state.value];
    const shown = all.value?.filter((record) => isOfState(record, state) && hasWords(record, words));
    return shown && inOrder(shown, preferences.current.value.order, this.#activity.value);
  });

  /** Recently read records, which contain the times of the last output. */
  heard(records: readonly SessionRecord[]): void {
    this.#activity.value = new Map(records.map(({ id, lastModified }) => [id, lastModified]));
  }
}

function wordsOf(text: string): readonly string[] {
  return text
    .toLowerCase()
    .split(/\s+/)
    .filter((word) => word !== "");
}

function isOfState({ status }: SessionRecord, state: StateFilter): boolean {
  return state === "all" || (status === "exited") === (state === "ended");
}

function hasWords(record: SessionRecord, words: readonly string[]): boolean {
  if (words.length === 0) return true;
  const text = searchText(record);
  return words.every((word) => text.includes(word));
}

/** All text by which a person may know the session. */
function searchText({ name, title, command, cwd, source, owner, gitBranch }: SessionRecord): string {
  const parts = [name, title, commandWords(command), cwd, source, owner, gitBranch];
  return parts
    .filter((part) => part !== undefined)
    .join("\n")
    .toLowerCase();
}

/** The records are already in the order of "newest". By machine: in the order of machines/machine-list.ts. */
function inOrder(
  records: readonly SessionRecord[],
  order: ListOrder,
  activity: ReadonlyMap<string, string>,
): readonly SessionRecord[] {
  if (order === "newest") return records;
  if (order === "machine") return records.toSorted(byMachine);
  const latest = ({ id, lastModified }: SessionRecord): string => activity.get(id) ?? lastModified;
  const compare = (one: SessionRecord, other: SessionRecord): number =>
    order === "name"
      ? one.name.localeCompare(other.name, undefined, { numeric: true })
      : latest(other).localeCompare(latest(one));
  const rank = ({ status }: SessionRecord): number => (status === "exited" ? 1 : 0);
  return records.toSorted((one, other) => rank(one) - rank(other) || compare(one, other));
}

function byMachine({ source: one = LOCAL }: SessionRecord, { source: other = LOCAL }: SessionRecord): number {
  return Number(other === LOCAL) - Number(one === LOCAL) || one.localeCompare(other);
}

/** How well the letters, in this order, match the text: undefined for no match. Higher is better. */
export function fuzzyScore(letters: string, text: string): number | undefined {
  const [wanted, within] = [letters.toLowerCase().replaceAll(/\s/g, ""), text.toLowerCase()];
  let score = 0;
  let last = -1;
  for (const letter of wanted) {
    const at = within.indexOf(letter, last + 1);
    if (at === -1) return undefined;
    const isWordStart = at === 0 || /[^\p{L}\p{N}]/u.test(within[at - 1] ?? "");
    score += at === last + 1 ? 3 : isWordStart ? 2 : -1;
    last = at;
  }
  return score;
}

/** The best first; without letters all, unsorted. */
export function fuzzyFind(letters: string, records: readonly SessionRecord[]): readonly SessionRecord[] {
  if (letters.trim() === "") return records;
  return records
    .map((record) => ({ record, score: bestScore(letters, record) }))
    .filter(({ score }) => score !== undefined)
    .toSorted((one, other) => (other.score ?? 0) - (one.score ?? 0))
    .map(({ record }) => record);
}

/** A match in the name counts more than one elsewhere. */
function bestScore(letters: string, record: SessionRecord): number | undefined {
  const byName = fuzzyScore(letters, record.name);
  return byName === undefined ? fuzzyScore(letters, searchText(record)) : byName + letters.length * 3;
}
