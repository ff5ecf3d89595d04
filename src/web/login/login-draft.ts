import { type Signal, useSignal } from "@preact/signals";

export type Way = "password" | "key";

/** What a person has chosen and typed on the way in; it outlasts a look at the keys. */
export type LoginDraft = {
  /** Undefined until one was chosen. */
  readonly way: Signal<Way | undefined>;
  /** The public key of the key to log in with; undefined until one was chosen. */
  readonly key: Signal<string | undefined>;
  /** Undefined until a name was typed. */
  readonly user: Signal<string | undefined>;
};

export function useLoginDraft(): LoginDraft {
  return {
    way: useSignal<Way | undefined>(undefined),
    key: useSignal<string | undefined>(undefined),
    user: useSignal<string | undefined>(undefined),
  };
}
