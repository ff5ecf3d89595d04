import type { RefObject } from "preact";
import { useLayoutEffect } from "preact/hooks";

/** While open, a press outside `root` and the Escape key close it. */
export function useDismissal(root: RefObject<HTMLElement | null>, isOpen: boolean, close: () => void): void {
  useLayoutEffect(() => {
    if (!isOpen) return undefined;
    const abort = new AbortController();
    const options = { capture: true, signal: abort.signal };
    const press = (event: PointerEvent): void => {
      if (event.target instanceof Node && !root.current?.contains(event.target)) close();
    };
    const key = (event: KeyboardEvent): void => {
      if (event.key === "Escape") close();
    };
    document.addEventListener("pointerdown", press, options);
    document.addEventListener("keydown", key, options);
    return () => abort.abort();
    // The first render's `close` behaves like later ones.
  }, [isOpen, root]);
}
