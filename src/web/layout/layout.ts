// The arrangement of the open sessions: tabs, and in each tab a tree of panes. Every function returns a layout in
// normal form: no split directly inside a split of the same kind, at least two parts in each, and no session twice in a
// tab.

/** Without `id` the pane is empty. `at`: plays the recording from that time, in seconds since its start. */
export type Pane = {
  readonly kind: "pane";
  readonly id: string | undefined;
  readonly at?: number | undefined;
};
/** `row`: parts side by side. `column`: one above the other. */
export type Split = { readonly kind: "row" | "column"; readonly parts: readonly Part[] };
/** `weight`: the part's share of the split, relative to those of its neighbours. */
export type Part = { readonly tree: Tree; readonly weight: number };
export type Tree = Pane | Split;
/** `focus`: the number of the focused pane, in the order of `panesOf`. */
export type Tab = { readonly tree: Tree; readonly focus: number };
export type Layout = { readonly tabs: readonly Tab[]; readonly current: number };

/** Panes per tab; a browser draws at most 16 terminals with its GPU. */
export const MAX_PANES = 12;
export const MAX_TABS = 12;
/** Weights with a larger sum are rounded to hundredths. */
const MAX_WEIGHTS = 1_000;
const HUNDREDTHS = 100;

const EMPTY: Pane = { kind: "pane", id: undefined };

export function singlePane(id: string | undefined, at?: number): Layout {
  return { tabs: [{ tree: { kind: "pane", id, at }, focus: 0 }], current: 0 };
}

export function panesOf(tree: Tree): readonly Pane[] {
  return tree.kind === "pane" ? [tree] : tree.parts.flatMap((part) => panesOf(part.tree));
}

export function allPanes({ tabs }: Layout): readonly Pane[] {
  return tabs.flatMap(({ tree }) => panesOf(tree));
}

export function currentTab({ tabs, current }: Layout): Tab {
  return tabs[current] ?? { tree: EMPTY, focus: 0 };
}

export function focusedPane(layout: Layout): Pane {
  const { tree, focus } = currentTab(layout);
  return panesOf(tree)[focus] ?? EMPTY;
}

/**
 * Shows and focuses the session: where it is in this tab, otherwise in a focused empty pane, otherwise in another tab,
 * otherwise instead of the focused session.
 */
export function showSession(layout: Layout, id: string, at?: number): Layout {
  const here = numberOf(currentTab(layout), id);
  const elsewhere = layout.tabs.findIndex((tab) => numberOf(tab, id) !== -1);
  const isElsewhere = here === -1 && elsewhere !== -1 && focusedPane(layout).id !== undefined;
  const target = isElsewhere ? selectTab(layout, elsewhere) : layout;
  const number = numberOf(currentTab(target), id);
  const focused = number === -1 ? target : focusPane(target, number);
  return changeFocused(focused, () => ({ kind: "pane", id, at }));
}

/** Divides the focused pane; the new half is empty and focused. Unchanged at MAX_PANES. */
export function splitPane(layout: Layout, kind: Split["kind"]): Layout {
  const { tree, focus } = currentTab(layout);
  if (panesOf(tree).length >= MAX_PANES) return layout;
  const parts = (pane: Pane): readonly Part[] => [
    { tree: pane, weight: 1 },
    { tree: EMPTY, weight: 1 },
  ];
  const divided = changeFocused(layout, (pane) => ({ kind, parts: parts(pane) }));
  return focusPane(divided, focus + 1);
}

/** Removes the session from the focused pane. */
export function emptyPane(layout: Layout): Layout {
  return changeFocused(layout, () => EMPTY);
}

/** Removes the panes for which `isClosed` is true; undefined if none is left. A tab without panes is closed. */
export function closePanes(
  layout: Layout,
  isClosed: (pane: Pane, place: { readonly tab: number; readonly number: number }) => boolean,
): Layout | undefined {
  const kept = layout.tabs.flatMap(({ tree, focus }, tab) => {
    const closed = panesOf(tree).map((pane, number) => isClosed(pane, { tab, number }));
    const rest = edit(tree, (pane, number) => (closed[number] ? undefined : pane));
    if (rest === undefined) return [];
    const before = closed.slice(0, focus).filter((one) => !one).length;
    return [{ tab: { tree: rest, focus: Math.min(before, panesOf(rest).length - 1) }, number: tab }];
  });
  if (kept.length === 0) return undefined;
  const earlier = kept.filter(({ number }) => number < layout.current).length;
  return { tabs: kept.map(({ tab }) => tab), current: Math.min(earlier, kept.length - 1) };
}

export function closePane(layout: Layout, closed: number): Layout | undefined {
  return closePanes(layout, (_, { tab, number }) => tab === layout.current && number === closed);
}

/** Undefined if it was the only one. */
export function closeTab(layout: Layout, closed: number): Layout | undefined {
  return closePanes(layout, (_, { tab }) => tab === closed);
}

export function focusPane(layout: Layout, number: number): Layout {
  const { tree } = currentTab(layout);
  const last = panesOf(tree).length - 1;
  return changeTab(layout, { tree, focus: Math.max(0, Math.min(last, number)) });
}

/** Moves the focus to the next or previous pane, cyclically; with `isAcrossTabs` through all tabs. */
export function stepFocus(layout: Layout, step: 1 | -1, isAcrossTabs = false): Layout {
  const { tree, focus } = currentTab(layout);
  const count = panesOf(tree).length;
  const next = focus + step;
  if (!isAcrossTabs || (next >= 0 && next < count)) return focusPane(layout, (next + count) % count);
  const there = stepTab(layout, step);
  return focusPane(there, step === 1 ? 0 : Number.POSITIVE_INFINITY);
}

/** Appends a tab with an empty pane. Unchanged at MAX_TABS. */
export function addTab({ tabs, current }: Layout): Layout {
  if (tabs.length >= MAX_TABS) return { tabs, current };
  return { tabs: [...tabs, { tree: EMPTY, focus: 0 }], current: tabs.length };
}

export function selectTab({ tabs }: Layout, number: number): Layout {
  return { tabs, current: Math.max(0, Math.min(tabs.length - 1, number)) };
}

export function stepTab(layout: Layout, step: 1 | -1): Layout {
  const { length } = layout.tabs;
  return selectTab(layout, (layout.current + step + length) % length);
}

/** Replaces the tree of the current tab by one with as many panes. */
export function replaceTree(layout: Layout, tree: Tree): Layout {
  return changeTab(layout, { tree, focus: currentTab(layout).focus });
}

/** Replaces each pane by the result of `change`, in normal form; undefined removes it. */
export function edit(tree: Tree, change: (pane: Pane, number: number) => Tree | undefined): Tree | undefined {
  let number = -1;
  const visit = (visited: Tree): Tree | undefined => {
    if (visited.kind !== "pane") {
      const parts = visited.parts.flatMap(({ tree: part, weight }) => {
        const edited = visit(part);
        return edited === undefined ? [] : [{ tree: edited, weight }];
      });
      return join(visited.kind, parts);
    }
    number += 1;
    return change(visited, number);
  };
  return visit(tree);
}

/** The parts as a tree in normal form; a nested split of the same kind is replaced by its parts, at equal size. */
export function join(kind: Split["kind"], parts: readonly Part[]): Tree | undefined {
  const [first] = parts;
  if (parts.length <= 1) return first?.tree;
  // Whole numbers: the unit of every part divides all inner splits.
  const sums = parts.map(({ tree }) => (tree.kind === kind ? sum(weightsOf(tree)) : 1));
  const unit = sums.reduce((product, one) => product * one, 1);
  const flat = parts.flatMap(({ tree, weight }, at): readonly Part[] => {
    const size = weight * unit;
    if (tree.kind === "pane" || tree.kind !== kind) return [{ tree, weight: size }];
    return tree.parts.map((inner) => ({
      tree: inner.tree,
      weight: (size * inner.weight) / (sums[at] ?? 1),
    }));
  });
  return weigh(kind, flat);
}

/** Divides the weights by their common divisor. */
export function weigh(kind: Split["kind"], parts: readonly Part[]): Split {
  const total = sum(parts.map(({ weight }) => weight));
  const rounded = parts.map(({ weight }) =>
    total > MAX_WEIGHTS ? Math.max(1, Math.round((weight * HUNDREDTHS) / total)) : weight,
  );
  const divisor = rounded.reduce(greatestCommonDivisor);
  return {
    kind,
    parts: parts.map(({ tree }, at) => ({ tree, weight: (rounded[at] ?? divisor) / divisor })),
  };
}

function weightsOf(split: Split): readonly number[] {
  return split.parts.map(({ weight }) => weight);
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, one) => total + one, 0);
}

function greatestCommonDivisor(one: number, other: number): number {
  return other === 0 ? one : greatestCommonDivisor(other, one % other);
}

function numberOf({ tree }: Tab, id: string): number {
  return panesOf(tree).findIndex((pane) => pane.id === id);
}

function changeFocused(layout: Layout, change: (pane: Pane) => Tree): Layout {
  const { tree, focus } = currentTab(layout);
  const changed = edit(tree, (pane, number) => (number === focus ? change(pane) : pane));
  return changeTab(layout, { tree: changed ?? EMPTY, focus });
}

function changeTab({ tabs, current }: Layout, tab: Tab): Layout {
  return { tabs: tabs.with(current, tab), current };
}
