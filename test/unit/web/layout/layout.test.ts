import * as fc from "fast-check";
import { expect, test } from "vitest";
import { parseRoute, type Route, routeHash } from "../../../../src/web/app/route.ts";
import { printTabs } from "../../../../src/web/layout/address.ts";
import {
  addTab,
  closePane,
  closePanes,
  closeTab,
  currentTab,
  focusedPane,
  focusPane,
  type Layout,
  MAX_PANES,
  panesOf,
  replaceTree,
  selectTab,
  showSession,
  singlePane,
  splitPane,
  stepFocus,
} from "../../../../src/web/layout/layout.ts";
import { moveDivider, placeTree } from "../../../../src/web/layout/placement.ts";

/** What the address of a layout says; "gone" where there is none. */
function text(layout: Layout | undefined): string {
  return layout === undefined ? "gone" : routeHash({ view: "session", layout });
}

function layoutOf(hash: string): Layout {
  const route: Route = parseRoute(hash);
  if (route.view !== "session") throw new Error(`${hash} is no layout`);
  return route.layout;
}

test("a pane is split to the right and down, and what is closed leaves its place to its neighbours", () => {
  let layout = splitPane(singlePane("a"), "row");
  expect(text(layout)).toBe("#/l/a|*+");
  layout = showSession(layout, "b");
  expect(text(layout)).toBe("#/l/a|*b");
  layout = showSession(splitPane(layout, "column"), "c");
  expect(text(layout)).toBe("#/l/a|b/*c");
  layout = showSession(splitPane(focusPane(layout, 0), "row"), "d");
  expect(text(layout)).toBe("#/l/a|*d|(b/c):2");
  expect(text(closePane(layout, 1))).toBe("#/l/a|(*b/c):2");
  expect(text(closePanes(layout, ({ id }) => id !== "c"))).toBe("#/s/c");
  expect(closePanes(layout, () => true)).toBeUndefined();
});

test("a session is shown where it is, in an empty pane, or in place of the focused one", () => {
  const layout = layoutOf("#/l/a|*b,c/d");
  expect(text(showSession(layout, "a"))).toBe("#/l/a|b,c/d");
  expect(text(showSession(layout, "d"))).toBe("#/l/a|*b,c/*d?tab=2");
  expect(text(showSession(layout, "e"))).toBe("#/l/a|*e,c/d");
  expect(text(showSession(layoutOf("#/l/a|*+,c"), "c"))).toBe("#/l/a|*c,c");
  expect(text(showSession(layoutOf("#/l/a|*+"), "a"))).toBe("#/l/a|+");
  expect(text(showSession(singlePane("a"), "b", 5))).toBe("#/s/b?t=5");
});

test("tabs are added, left and closed; the focus goes round", () => {
  const layout = showSession(addTab(layoutOf("#/l/a|*b")), "c");
  expect(text(layout)).toBe("#/l/a|*b,c?tab=2");
  expect(text(selectTab(layout, 0))).toBe("#/l/a|*b,c");
  expect(text(closeTab(layout, 0))).toBe("#/s/c");
  expect(text(closeTab(layout, 1))).toBe("#/l/a|*b");
  expect(text(stepFocus(layoutOf("#/l/a|*b,c"), 1))).toBe("#/l/a|b,c");
  expect(text(stepFocus(layoutOf("#/l/a|*b,c"), 1, true))).toBe("#/l/a|*b,c?tab=2");
  expect(text(stepFocus(layoutOf("#/l/a|b,c"), -1, true))).toBe("#/l/a|b,c?tab=2");
  expect(text(stepFocus(layoutOf("#/l/c,a|b"), -1, true))).toBe("#/l/c,a|*b?tab=2");
});

test("a tab has no more panes than it may, and a session has one of them", () => {
  let layout = singlePane("a");
  for (let count = 0; count < 2 * MAX_PANES; count += 1) layout = splitPane(layout, "row");
  expect(panesOf(currentTab(layout).tree)).toHaveLength(MAX_PANES);
  expect(text(layoutOf(text(layout)))).toBe(text(layout));
  expect(text(layoutOf("#/l/a|a/b"))).toBe("#/l/a|+/b");
});

test("an address by hand is read; what means nothing or is too large is the list", () => {
  expect(text(layoutOf("#/l/(a|b/c)"))).toBe("#/l/a|b/c");
  expect(text(layoutOf("#/l/a%7Cb"))).toBe("#/l/a|b");
  expect(text(layoutOf("#/l/(a:2|b):3|c:6"))).toBe("#/l/a:2|b|c:6");
  expect(text(layoutOf("#/l/a@1.5:3|*b@2?tab=9"))).toBe("#/l/a@1.5:3|*b@2");
  expect(text(layoutOf("#/l/a"))).toBe("#/s/a");
  const many = Array.from({ length: MAX_PANES + 1 }, (_, number) => `s${number}`);
  for (const hash of [
    ...[
      "#/l/",
      "#/l/a|",
      "#/l/(a",
      "#/l/a)",
      "#/l/a||b",
      "#/l/a,,b",
      "#/l/a:0",
      "#/l/a b",
      "#/l/:2",
      "#/l/()",
    ],
    ...[
      `#/l/${many.join("|")}`,
      `#/l/${many.join(",")}`,
      `#/l/${"(".repeat(50_000)}`,
      `#/l/${"a,".repeat(50_000)}`,
    ],
  ]) {
    expect(parseRoute(hash).view).toBe("list");
  }
});

test("a divider moves the two panes beside it and no other", () => {
  const { tree } = currentTab(layoutOf("#/l/a|b|c/d"));
  const [first, , inner] = placeTree(tree).dividers;
  expect(first).toMatchObject({ kind: "row", share: 0.5, path: [0] });
  expect(inner).toMatchObject({ kind: "column", path: [2, 0], box: { height: 1 } });
  const moved = moveDivider(tree, [0], 0.25);
  const widths = placeTree(moved).panes.map(({ width }) => width);
  expect(widths[0]).toBeCloseTo(1 / 6, 2);
  expect(widths[1]).toBeCloseTo(1 / 2, 2);
  expect(widths[2]).toBeCloseTo(1 / 3, 2);
  expect(placeTree(moveDivider(tree, [0], -3)).panes[0]?.width).toBeCloseTo(2 / 30, 2);
  expect(placeTree(moveDivider(tree, [2, 0], 0.7)).panes.at(-1)?.height).toBeCloseTo(0.3, 2);
});

/** What a person does to a layout, at random. */
const action = fc.oneof(
  fc.nat({ max: 40 }).map((id) => (layout: Layout) => showSession(layout, `s${id}`)),
  fc
    .constantFrom("row", "column" as const)
    .map((kind) => (layout: Layout) => splitPane(layout, kind as "row")),
  fc.nat({ max: 12 }).map((number) => (layout: Layout) => focusPane(layout, number)),
  fc.nat({ max: 12 }).map((number) => (layout: Layout) => closePane(layout, number) ?? layout),
  fc.nat({ max: 12 }).map((number) => (layout: Layout) => closeTab(layout, number) ?? layout),
  fc.nat({ max: 12 }).map((number) => (layout: Layout) => selectTab(layout, number)),
  fc.constant(addTab),
  fc
    .tuple(fc.nat({ max: 12 }), fc.double({ min: 0, max: 1, noNaN: true }))
    .map(([number, share]) => (layout: Layout) => {
      const { tree } = currentTab(layout);
      const { dividers } = placeTree(tree);
      const divider = dividers[number % Math.max(1, dividers.length)];
      return divider === undefined ? layout : replaceTree(layout, moveDivider(tree, divider.path, share));
    }),
);

test("after any change of a layout its address restores it, and its panes cover the page", () => {
  return fc.assert(
    fc.property(fc.array(action, { maxLength: 60 }), (changes) => {
      const layout = changes.reduce((before, change) => change(before), singlePane("a"));
      expect(layoutOf(text(layout))).toEqual(layout);
      for (const { tree, focus } of layout.tabs) {
        const ids = panesOf(tree).flatMap(({ id }) => id ?? []);
        expect(new Set(ids).size).toBe(ids.length);
        expect(panesOf(tree)[focus]).toBeDefined();
        const area = placeTree(tree).panes.reduce((sum, { width, height }) => sum + width * height, 0);
        expect(area).toBeCloseTo(1, 6);
      }
      expect(focusedPane(layout)).toBeDefined();
    }),
  );
});

test("no text breaks the parser, and what it reads is printed as what is read again", () => {
  const marks = fc.array(fc.constantFrom(..."ab+*@:12|/(),? "), { maxLength: 30 }).map((all) => all.join(""));
  return fc.assert(
    fc.property(fc.oneof(marks, fc.string()), (garbage) => {
      const route = parseRoute(`#/l/${garbage}`);
      if (route.view !== "session") return;
      const printed = text(route.layout);
      expect(text(layoutOf(printed))).toBe(printed);
      expect(printTabs(layoutOf(printed))).toBe(printTabs(route.layout));
    }),
  );
});
