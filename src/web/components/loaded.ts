// Code and data that come after a view has been drawn.
import { useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import { failureSentence } from "../sentence.ts";

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

export type ServerValue<T> = {
  /** Undefined until it was read. */
  readonly value: T | undefined;
  /** A sentence; undefined while nothing failed. */
  readonly failure: string | undefined;
  /** Changes something and reads again. `otherwise`: the sentence for a failure without words. */
  readonly change: (otherwise: string, act: () => Promise<unknown>) => void;
};

/** Something of the server that is read when one of `of` is another one, and after each change. */
export function useServerValue<T>(
  otherwise: string,
  of: readonly unknown[],
  read: () => Promise<T>,
): ServerValue<T> {
  const value = useSignal<T | undefined>(undefined);
  const failure = useSignal<string | undefined>(undefined);
  const change = async (words: string, act: () => Promise<unknown>): Promise<void> => {
    failure.value = undefined;
    try {
      await act();
      value.value = await read();
    } catch (error) {
      failure.value = failureSentence(error, words);
    }
  };
  useEffect(() => void change(otherwise, async () => {}), of);
  return {
    value: value.value,
    failure: failure.value,
    change: (words, act) => void change(words, act),
  };
}
