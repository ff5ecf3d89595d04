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
