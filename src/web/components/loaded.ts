// Data that load after a view is drawn.
import { useSignal } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import { failureSentence } from "../sentence.ts";

/** To be called for each request; the result tells whether there is no later one, so that its answer counts. */
export function useLatest(): () => () => boolean {
  const latest = useRef(0);
  return () => {
    latest.current += 1;
    const number = latest.current;
    return () => number === latest.current;
  };
}

export type ServerValue<T> = {
  /** Undefined until it is read. */
  readonly value: T | undefined;
  /** A sentence; undefined unless reading failed. */
  readonly failure: string | undefined;
  /** Makes a change and reads again. `otherwise`: the sentence for a failure without a message. */
  readonly change: (otherwise: string, act: () => Promise<unknown>) => void;
};

/** A value of the server that is read again when `of` changes, and after each change. */
export function useServerValue<T>(
  otherwise: string,
  of: readonly unknown[],
  read: () => Promise<T>,
): ServerValue<T> {
  const value = useSignal<T | undefined>(undefined);
  const failure = useSignal<string | undefined>(undefined);
  const begin = useLatest();
  const change = async (words: string, act: () => Promise<unknown>): Promise<void> => {
    failure.value = undefined;
    try {
      await act();
    } catch (error) {
      failure.value = failureSentence(error, words);
    }
    // Also after a failure, whose reason may be a change that the value does not show yet.
    const isLatest = begin();
    try {
      const answer = await read();
      if (isLatest()) value.value = answer;
    } catch (error) {
      if (isLatest()) failure.value ??= failureSentence(error, otherwise);
    }
  };
  useEffect(() => void change(otherwise, async () => {}), of);
  return {
    value: value.value,
    failure: failure.value,
    change: (words, act) => void change(words, act),
  };
}
