import type { SessionViewer } from "../../../protocol/schemas/viewer.ts";

/** The connections of one name: windows of a user, or guests of one link who chose the same name. */
export type Person = {
  readonly key: string;
  readonly viewer: SessionViewer;
  readonly isTyping: boolean;
  /** The text beside the name. */
  readonly detail: string;
};

/** You first, the others in the order of arrival. */
export function peopleOf(viewers: readonly SessionViewer[]): readonly Person[] {
  const groups = Map.groupBy(viewers, ({ name, kind, shareId = "" }) => `${kind} ${shareId} ${name}`);
  return [...groups]
    .map(([key, all]) => personOf(key, all))
    .toSorted((one, other) => Number(other.viewer.isYou) - Number(one.viewer.isYou));
}

function personOf(key: string, all: readonly SessionViewer[]): Person {
  const [first] = all;
  if (first === undefined) throw new Error("a group has a viewer");
  const isTyping = all.some((viewer) => viewer.isTyping);
  const viewer = { ...first, isYou: all.some(({ isYou }) => isYou) };
  const may = isTyping ? "types now" : viewer.mayType ? "may type" : "only watches";
  const windows = all.length === 1 ? [] : [`${all.length} windows`];
  const whose = viewer.kind === "hq" ? ["everyone who watches there"] : viewer.isYou ? ["you"] : [];
  return { key, viewer, isTyping, detail: [...whose, ...windows, may].join(" · ") };
}

/** All of it in one line. */
export function presenceWords(people: readonly Person[]): string {
  const typing = people.filter(({ isTyping, viewer }) => isTyping && !viewer.isYou);
  const names = people.map(({ viewer }) => (viewer.isYou ? "you" : viewer.name)).join(", ");
  const types = typing.map(({ viewer }) => viewer.name).join(", ");
  return types === "" ? `Watching: ${names}` : `Watching: ${names}. Typing: ${types}`;
}

/** Up to two letters or digits, from the starts of words. */
export function initials(name: string): string {
  const words = name.replace(/ \(guest\)$/, "").match(/[\p{L}\p{N}]+/gu) ?? [];
  const [first = "", second = ""] = words;
  const letters = second === "" ? [...first].slice(0, 2) : [[...first][0], [...second][0]];
  return letters.join("").toUpperCase() || "?";
}
