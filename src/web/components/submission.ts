import { useSignal } from "@preact/signals";
import type { TargetedEvent } from "preact";
import { failureSentence } from "../sentence.ts";

export type Submission = {
  readonly isBusy: boolean;
  /** A sentence; undefined unless the action failed. */
  readonly failure: string | undefined;
  readonly onSubmit: (event: TargetedEvent<HTMLFormElement>) => void;
};

/**
 * Runs the action of a form, once at a time. `otherwise`: the sentence for a failure without a message, or the words for
 * each failure.
 */
export function useSubmission(
  otherwise: string | ((error: unknown) => string),
  act: (fields: FormData) => Promise<void>,
): Submission {
  const isBusy = useSignal(false);
  const failure = useSignal<string | undefined>(undefined);
  const run = async (fields: FormData): Promise<void> => {
    isBusy.value = true;
    failure.value = undefined;
    try {
      await act(fields);
    } catch (error) {
      failure.value = typeof otherwise === "string" ? failureSentence(error, otherwise) : otherwise(error);
    }
    isBusy.value = false;
  };
  const onSubmit = (event: TargetedEvent<HTMLFormElement>): void => {
    event.preventDefault();
    if (!isBusy.peek()) void run(new FormData(event.currentTarget));
  };
  return { isBusy: isBusy.value, failure: failure.value, onSubmit };
}
