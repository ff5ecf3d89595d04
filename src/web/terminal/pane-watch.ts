/** Where a terminal is drawn, and what happens to it. */
export type PaneListeners = {
  /** The pane has another size, whatever the reason. */
  readonly onLayout: () => void;
  /** A person has resized the window; a bar that comes and goes in the page means nothing. */
  readonly onResize: () => void;
  /** The window came to the front. */
  readonly onFocus: () => void;
};

export function watchPane(pane: Element, { onLayout, onResize, onFocus }: PaneListeners): Disposable {
  const observer = new ResizeObserver(onLayout);
  observer.observe(pane);
  const resized = (): void => {
    if (document.hasFocus()) onResize();
  };
  window.addEventListener("resize", resized);
  window.addEventListener("focus", onFocus);
  return {
    [Symbol.dispose]: () => {
      observer.disconnect();
      window.removeEventListener("resize", resized);
      window.removeEventListener("focus", onFocus);
    },
  };
}
