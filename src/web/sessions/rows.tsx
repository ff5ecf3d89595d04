// The visible part of a long list. Every row has the same height, so two paddings replace the rest.
import { useSignal } from "@preact/signals";
import type { RefObject, VNode } from "preact";
import { useLayoutEffect, useRef } from "preact/hooks";

/** A list up to this length is drawn whole. */
const SHORT = 12;
/** Rows drawn beyond either edge, and the step of changes. */
const MARGIN = 10;
/** Default height until a row is measured. */
const ROW_PX = 56;
const NEAREST = { block: "nearest" } as const;

type RowsProps<T> = {
  readonly records: readonly T[];
  readonly row: (record: T) => VNode;
  /** The id of the open one, which is scrolled into view. */
  readonly current: string | undefined;
  readonly label?: string;
};

export function Rows<T extends { readonly id: string }>({
  records,
  row,
  current,
  label,
}: RowsProps<T>): VNode {
  const list = useRef<HTMLUListElement>(null);
  const place = useSignal({ first: 0, last: 2 * MARGIN, rowPx: ROW_PX });
  const count = records.length;
  const isShort = count <= SHORT;
  const at = current === undefined ? -1 : records.findIndex(({ id }) => id === current);
  const measure = (): void => {
    const [element, scroller] = [list.current, scrollerOf(list)];
    if (element === null || scroller === undefined) return;
    const rowPx = element.querySelector("li")?.offsetHeight || ROW_PX;
    const hiddenPx = scroller.getBoundingClientRect().top - element.getBoundingClientRect().top;
    const first = Math.floor(hiddenPx / rowPx / MARGIN - 1) * MARGIN;
    const last = first + Math.ceil(scroller.clientHeight / rowPx / MARGIN + 3) * MARGIN;
    const value = place.peek();
    if (value.first !== first || value.last !== last || value.rowPx !== rowPx) {
      place.value = { first, last, rowPx };
    }
  };
  // A short list ignores its position.
  const { rowPx, ...inSight } = isShort ? { first: 0, last: count, rowPx: ROW_PX } : place.value;
  const first = Math.min(count, Math.max(0, inSight.first));
  const last = Math.min(count, Math.max(first, inSight.last));
  // Lists above it may have become shorter.
  useLayoutEffect(measure);
  useLayoutEffect(() => watchScroller(scrollerOf(list), measure), []);
  useLayoutEffect(() => {
    const scroller = scrollerOf(list);
    if (scroller === undefined || at === -1) return;
    if (at >= first && at < last) return list.current?.children[at - first]?.scrollIntoView(NEAREST);
    const top = (list.current?.getBoundingClientRect().top ?? 0) - scroller.getBoundingClientRect().top;
    scroller.scrollTop += top + at * rowPx - scroller.clientHeight / 2;
    // Only when another session is opened or appears, not when the list changes or draws the row again.
  }, [current, at === -1]);
  const style = { paddingTop: `${first * rowPx}px`, paddingBottom: `${(count - last) * rowPx}px` };
  return (
    <ul ref={list} style={style} aria-label={label}>
      {records.slice(first, last).map(row)}
    </ul>
  );
}

function scrollerOf(list: RefObject<HTMLElement | null>): HTMLElement | undefined {
  return list.current?.closest<HTMLElement>(".sessions, .view-body") ?? undefined;
}

/** Calls back when the visible part may have changed. */
function watchScroller(scroller: HTMLElement | undefined, onChange: () => void): () => void {
  if (scroller === undefined) return () => undefined;
  const observer = new ResizeObserver(onChange);
  observer.observe(scroller);
  const end = new AbortController();
  const { signal } = end;
  scroller.addEventListener("scroll", onChange, { passive: true, signal });
  // A machine's list opens or closes; the event does not bubble.
  scroller.addEventListener("toggle", onChange, { capture: true, signal });
  return () => {
    observer.disconnect();
    end.abort();
  };
}
