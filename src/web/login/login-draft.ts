import { type Signal, useSignal } from "@preact/signals";

export type Way = "password" | "key";

/** A person's choices and input on the login card; they survive a visit to the key views. */
export type LoginDraft = {
  /** Undefined until a method was chosen. */
  readonly way: Signal<Way | undefined>;
  /** The public key of the key for the login; undefined until one was chosen. */
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
