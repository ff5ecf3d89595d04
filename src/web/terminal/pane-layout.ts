/** Calls back when the element's size changes, in pixels of the page or, as on another screen, in those of the screen. */
export function watchLayout(element: Element, onLayout: () => void): Disposable {
  const observer = new ResizeObserver(onLayout);
  observer.observe(element);
  const end = new AbortController();
  const watchRatio = (): void => {
    const current = window.matchMedia(`(resolution: ${window.devicePixelRatio}dppx)`);
    const changed = (): void => {
      onLayout();
      watchRatio();
    };
    current.addEventListener("change", changed, { once: true, signal: end.signal });
  };
  watchRatio();
  return {
    [Symbol.dispose]: () => {
      observer.disconnect();
      end.abort();
    },
  };
}

/** The place of a terminal, and its events. */
type PaneListeners = {
  /** The pane's size changed, for any reason. */
  readonly onLayout: () => void;
  /** A person resized the window; bars that appear in the page do not count. */
  readonly onResize: () => void;
  /** The window came to the front. */
  readonly onFocus: () => void;
};

export function watchPane(pane: Element, { onLayout, onResize, onFocus }: PaneListeners): Disposable {
  const layout = watchLayout(pane, onLayout);
  const resized = (): void => {
    if (document.hasFocus()) onResize();
  };
  const end = new AbortController();
  window.addEventListener("resize", resized, end);
  window.addEventListener("focus", onFocus, end);
  return {
    [Symbol.dispose]: () => {
      layout[Symbol.dispose]();
      end.abort();
    },
  };
}
