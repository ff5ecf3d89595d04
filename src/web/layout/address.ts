// A layout as text for the address. `a|b` are side by side, `a/b` one above the other; `/` binds more than `|`, and
// parentheses group. `:3` after a pane or parentheses is their weight, `+` an empty pane, `*` marks the focused pane,
// `@5` plays the recording from second 5, and `,` separates tabs.
import { SessionId } from "../../protocol/schemas/session.ts";
import {
  edit,
  join,
  type Layout,
  MAX_PANES,
  MAX_TABS,
  type Part,
  panesOf,
  type Tab,
  type Tree,
} from "./layout.ts";

const SEPARATORS = { row: "|", column: "/" } as const;
const PANE = /^(\*?)(\+|[^@:]+)(?:@(\d{1,9}(?:\.\d{1,6})?))?(?::([1-9]\d{0,3}))?$/;
const WEIGHT = /^:([1-9]\d{0,3})$/;

/** Undefined if the text is invalid or too large. */
export function parseTabs(text: string): Layout["tabs"] | undefined {
  const tabs = text.split(",", MAX_TABS + 1).map(parseTab);
  const known = tabs.filter((tab) => tab !== undefined);
  return known.length === tabs.length && tabs.length <= MAX_TABS ? known : undefined;
}

export function printTabs({ tabs }: Pick<Layout, "tabs">): string {
  return tabs.map(printTab).join(",");
}

function parseTab(text: string): Tab | undefined {
  const reader = new Reader(text);
  const tree = reader.row(MAX_PANES)?.tree;
  if (tree === undefined || !reader.isAtEnd || panesOf(tree).length > MAX_PANES) return undefined;
  const seen = new Set<string>();
  // A session has one size, and so one pane.
  const unique = edit(tree, (pane) => {
    if (pane.id === undefined || !seen.has(pane.id)) {
      if (pane.id !== undefined) seen.add(pane.id);
      return pane;
    }
    return { kind: "pane", id: undefined };
  });
  return unique && { tree: unique, focus: reader.focus };
}

/** Each function returns undefined for invalid text. */
class Reader {
  readonly #pieces: readonly string[];
  #at = 0;
  #panes = 0;
  /** The number of the marked pane. */
  focus = 0;

  constructor(text: string) {
    this.#pieces = text.split(/([()|/])/).filter((piece) => piece !== "");
  }

  get isAtEnd(): boolean {
    return this.#at === this.#pieces.length;
  }

  /** `depth`: of parentheses. */
  row(depth: number): Part | undefined {
    return this.#parts("row", () => this.#parts("column", () => this.#cell(depth)));
  }

  #parts(kind: "row" | "column", read: () => Part | undefined): Part | undefined {
    const parts: Part[] = [];
    do {
      const part = read();
      if (part === undefined) return undefined;
      parts.push(part);
    } while (this.#takes(SEPARATORS[kind]));
    const [first] = parts;
    if (parts.length === 1) return first;
    const tree = join(kind, parts);
    return tree && { tree, weight: 1 };
  }

  #cell(depth: number): Part | undefined {
    if (!this.#takes("(")) return this.#pane();
    const inner = depth > 0 ? this.row(depth - 1) : undefined;
    if (inner === undefined || !this.#takes(")")) return undefined;
    const [, weight] = WEIGHT.exec(this.#pieces[this.#at] ?? "") ?? [];
    if (weight !== undefined) this.#at += 1;
    return { tree: inner.tree, weight: Number(weight ?? 1) };
  }

  #pane(): Part | undefined {
    const [, mark, name = "", at, weight] = PANE.exec(this.#pieces[this.#at] ?? "") ?? [];
    const id = name === "+" ? undefined : SessionId.safeParse(name).data;
    if (id === undefined && name !== "+") return undefined;
    this.#at += 1;
    if (mark === "*") this.focus = this.#panes;
    this.#panes += 1;
    const seconds = at === undefined || id === undefined ? undefined : Number(at);
    return { tree: { kind: "pane", id, at: seconds }, weight: Number(weight ?? 1) };
  }

  #takes(piece: string): boolean {
    if (this.#pieces[this.#at] !== piece) return false;
    this.#at += 1;
    return true;
  }
}

function printTab({ tree, focus }: Tab): string {
  let number = -1;
  const print = ({ tree: part, weight }: Part, isNested: boolean): string => {
    const share = weight === 1 ? "" : `:${weight}`;
    if (part.kind === "pane") {
      number += 1;
      const mark = number === focus && focus > 0 ? "*" : "";
      return `${mark}${part.id ?? "+"}${part.at === undefined ? "" : `@${part.at}`}${share}`;
    }
    const parts = part.parts.map((one) => print(one, part.kind === "column" || one.weight !== 1));
    const text = parts.join(SEPARATORS[part.kind]);
    return isNested ? `(${text})${share}` : text;
  };
  return print({ tree, weight: 1 }, false);
}

/** Whether the address of the layout is that of its only session. */
export function onlySession({ tabs }: Layout): Extract<Tree, { kind: "pane" }> | undefined {
  const tree = tabs.length === 1 ? tabs[0]?.tree : undefined;
  return tree?.kind === "pane" && tree.id !== undefined ? tree : undefined;
}
