// The places of a tree's panes, as fractions of the whole, and the movable lines between them. Pure.
import { type Split, type Tree, weigh } from "./layout.ts";

/** From 0 to 1. */
export type Box = {
  readonly left: number;
  readonly top: number;
  readonly width: number;
  readonly height: number;
};

/** Between two parts of a split; `box` covers both. */
export type Divider = {
  readonly kind: Split["kind"];
  readonly box: Box;
  /** The share of the first part in both. */
  readonly share: number;
  /** The path of part numbers to the split, followed by that of the first part. */
  readonly path: readonly number[];
};

export type Placement = { readonly panes: readonly Box[]; readonly dividers: readonly Divider[] };

/** The minimum share of either side. */
export const MIN_SHARE = 0.1;
const WHOLE: Box = { left: 0, top: 0, width: 1, height: 1 };
const PRECISION = 100;

/** The boxes are in the order of `panesOf`. */
export function placeTree(tree: Tree, box: Box = WHOLE, path: readonly number[] = []): Placement {
  if (tree.kind === "pane") return { panes: [box], dividers: [] };
  const { kind, parts } = tree;
  const total = parts.reduce((sum, { weight }) => sum + weight, 0);
  const boxes: Box[] = [];
  let from = 0;
  for (const { weight } of parts) {
    boxes.push(slice(box, kind, from / total, weight / total));
    from += weight;
  }
  const inner = parts.map((part, at) => placeTree(part.tree, boxes[at] ?? box, [...path, at]));
  const own = boxes.slice(1).map((second, at): Divider => {
    const first = boxes[at] ?? second;
    const [one, other] = [lengthOf(first, kind), lengthOf(second, kind)];
    return { kind, box: both(first, second, kind), share: one / (one + other), path: [...path, at] };
  });
  return {
    panes: inner.flatMap(({ panes }) => panes),
    dividers: [...own, ...inner.flatMap(({ dividers }) => dividers)],
  };
}

/** Moves the divider to that share; the rest of the tree keeps its place. */
export function moveDivider(tree: Tree, path: readonly number[], share: number): Tree {
  const [at = 0, ...rest] = path;
  if (tree.kind === "pane") return tree;
  const { kind, parts } = tree;
  if (rest.length > 0) {
    const inner = parts.map((part, number) =>
      number === at ? { ...part, tree: moveDivider(part.tree, rest, share) } : part,
    );
    return { kind, parts: inner };
  }
  const both = ((parts[at]?.weight ?? 0) + (parts[at + 1]?.weight ?? 0)) * PRECISION;
  const first = Math.round(both * Math.min(1 - MIN_SHARE, Math.max(MIN_SHARE, share)));
  const weights = parts.map(({ weight }, number) => {
    if (number === at) return first;
    return number === at + 1 ? both - first : weight * PRECISION;
  });
  return weigh(
    kind,
    parts.map(({ tree: part }, number) => ({ tree: part, weight: weights[number] ?? 1 })),
  );
}

function slice({ left, top, width, height }: Box, kind: Split["kind"], from: number, size: number): Box {
  if (kind === "row") return { left: left + width * from, top, width: width * size, height };
  return { left, top: top + height * from, width, height: height * size };
}

function both(first: Box, second: Box, kind: Split["kind"]): Box {
  if (kind === "row") return { ...first, width: first.width + second.width };
  return { ...first, height: first.height + second.height };
}

function lengthOf(box: Box, kind: Split["kind"]): number {
  return kind === "row" ? box.width : box.height;
}
