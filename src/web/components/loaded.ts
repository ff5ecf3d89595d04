import { useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";

/** Code that the first load of the page does without; undefined until it has come. */
export function useLoaded<T extends object>(
  load: () => Promise<T>,
  onFailed: (error: unknown) => void,
): T | undefined {
  const loaded = useSignal<T | undefined>(undefined);
  useEffect(() => {
    load().then((value) => {
      loaded.value = value;
    }, onFailed);
    // The functions of the first render do what later ones do.
  }, []);
  return loaded.value;
}
