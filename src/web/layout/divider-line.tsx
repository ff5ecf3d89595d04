import type { RefObject, TargetedKeyboardEvent, TargetedPointerEvent, VNode } from "preact";
import type { Tree } from "./layout.ts";
import { type Divider, MIN_SHARE, moveDivider } from "./placement.ts";

type DividerLineProps = {
  readonly divider: Divider;
  /** The element that the tree fills. */
  readonly area: RefObject<HTMLElement | null>;
  /** The tree before the divider was moved. */
  readonly tree: Tree;
  /** Whether the pointer is still down. */
  readonly onMove: (tree: Tree) => void;
  readonly onMoved: (tree: Tree) => void;
};

/** The step of an arrow key. */
const STEP = 0.05;
const STEPS: Readonly<Record<string, number>> = {
  ArrowLeft: -STEP,
  ArrowUp: -STEP,
  ArrowRight: STEP,
  ArrowDown: STEP,
  Home: -1,
  End: 1,
};

/** The line between two panes, moved by mouse, finger and arrow keys; a double click makes both sides equal. */
export function DividerLine({ divider, area, tree, onMove, onMoved }: DividerLineProps): VNode {
  const { kind, box, share, path } = divider;
  const isRow = kind === "row";
  const moved = (to: number): Tree => moveDivider(tree, path, to);
  const shareAt = ({ clientX, clientY }: PointerEvent): number => {
    const { left, top, width, height } = area.current?.getBoundingClientRect() ?? new DOMRect();
    return isRow
      ? ((clientX - left) / width - box.left) / box.width
      : ((clientY - top) / height - box.top) / box.height;
  };
  const isHeld = ({ currentTarget, pointerId }: TargetedPointerEvent<HTMLElement>): boolean =>
    currentTarget.hasPointerCapture(pointerId);
  const onKeyDown = (event: TargetedKeyboardEvent<HTMLElement>): void => {
    const step = STEPS[event.key];
    if (step === undefined || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    onMoved(moved(share + step));
  };
  const at = isRow ? box.left + box.width * share : box.top + box.height * share;
  return (
    <hr
      class={`divider ${kind}`}
      style={
        isRow
          ? { left: percent(at), top: percent(box.top), height: percent(box.height) }
          : { top: percent(at), left: percent(box.left), width: percent(box.width) }
      }
      tabIndex={0}
      aria-label="Divider"
      aria-orientation={isRow ? "vertical" : "horizontal"}
      aria-valuenow={Math.round(share * 100)}
      aria-valuemin={MIN_SHARE * 100}
      aria-valuemax={100 - MIN_SHARE * 100}
      onKeyDown={onKeyDown}
      onDblClick={() => onMoved(moved(0.5))}
      onPointerDown={(event) => event.currentTarget.setPointerCapture(event.pointerId)}
      onPointerMove={(event) => isHeld(event) && onMove(moved(shareAt(event)))}
      onPointerUp={(event) => isHeld(event) && onMoved(moved(shareAt(event)))}
      onPointerCancel={() => onMoved(tree)}
    />
  );
}

export function percent(part: number): string {
  return `${part * 100}%`;
}
