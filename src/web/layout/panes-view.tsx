import { useSignal } from "@preact/signals";
import type { CSSProperties, VNode } from "preact";
import { useLayoutEffect, useRef } from "preact/hooks";
import type { WorkspaceProps } from "../app/view-props.ts";
import { KeyBar } from "../session/key-bar.tsx";
import { SessionView } from "../session/session-view.tsx";
import { DividerLine, percent } from "./divider-line.tsx";
import { EmptyPane } from "./empty-pane.tsx";
import { currentTab, type Layout, type Pane, panesOf, type Tree } from "./layout.ts";
import { type Box, placeTree } from "./placement.ts";
import { TabBar } from "./tab-bar.tsx";

type PanesViewProps = WorkspaceProps & { readonly layout: Layout };

/** The panes of the current tab; on a narrow page only the focused one. */
export function PanesView({ page, workspace, layout }: PanesViewProps): VNode {
  /** A tree while a divider of it is being moved, and its result: the address changes when it is released. */
  const moving = useSignal<{ readonly from: Tree; readonly to: Tree } | undefined>(undefined);
  const area = useRef<HTMLDivElement>(null);
  const { tree, focus } = currentTab(layout);
  const panes = panesOf(tree);
  const isNarrow = page.narrow.matches.value;
  const placed = placeTree(moving.value?.from === tree ? moving.value.to : tree);
  const focused = workspace.panes.focused.value;
  const isPlaying = panes[focus]?.at !== undefined;
  return (
    <div class="layout">
      {layout.tabs.length > 1 && !isNarrow && <TabBar workspace={workspace} layout={layout} />}
      <div class={panes.length > 1 && !isNarrow ? "panes several" : "panes"} ref={area}>
        {panes.map((pane, number) => {
          const isFocused = number === focus;
          if (isNarrow && !isFocused) return undefined;
          const box = isNarrow ? undefined : placed.panes[number];
          return (
            <PaneView
              key={pane.id ?? `+${number}`}
              {...{ page, workspace, pane, number, isFocused }}
              style={box && boxStyle(box)}
              label={panes.length === 1 ? "Terminal" : `Terminal ${number + 1}`}
            />
          );
        })}
        {!isNarrow &&
          placed.dividers.map((divider) => (
            <DividerLine
              key={divider.path.join()}
              divider={divider}
              area={area}
              tree={tree}
              onMove={(moved) => {
                moving.value = { from: tree, to: moved };
              }}
              onMoved={(moved) => {
                moving.value = undefined;
                workspace.panes.resize(moved);
              }}
            />
          ))}
      </div>
      {focused?.phase.value.kind === "running" && !isPlaying && <KeyBar page={page} open={focused} />}
    </div>
  );
}

type PaneViewProps = WorkspaceProps & {
  readonly pane: Pane;
  readonly number: number;
  readonly isFocused: boolean;
  readonly style: CSSProperties | undefined;
  readonly label: string;
};

function PaneView({ page, workspace, pane, number, isFocused, style, label }: PaneViewProps): VNode {
  const root = useRef<HTMLDivElement>(null);
  const { panes } = workspace;
  const open = pane.id === undefined ? undefined : panes.open.value.get(pane.id);
  const focus = (): void => panes.focus(number);
  useLayoutEffect(() => {
    // Keeps the focus on an element of the pane, such as a button.
    if (isFocused && root.current?.contains(document.activeElement) === false) open?.emulator.focus();
  }, [isFocused, open]);
  return (
    <div
      ref={root}
      class={isFocused ? "pane focused" : "pane"}
      style={style}
      onFocusIn={focus}
      onPointerDownCapture={focus}
    >
      {open !== undefined && (
        <SessionView key={open.id} {...{ page, workspace, open, isFocused, label }} playFrom={pane.at} />
      )}
      {pane.id === undefined && (
        <EmptyPane page={page} workspace={workspace} number={number} isFocused={isFocused} />
      )}
    </div>
  );
}

function boxStyle({ left, top, width, height }: Box): CSSProperties {
  return { left: percent(left), top: percent(top), width: percent(width), height: percent(height) };
}
