import { useSignal } from "@preact/signals";

export type Toggle = {
  readonly isOn: boolean;
  readonly on: () => void;
  readonly off: () => void;
  readonly flip: () => void;
};

/** Whether a part of a component is shown: a question, a menu, a field. */
export function useToggle(): Toggle {
  const state = useSignal(false);
  const set = (isOn: boolean) => () => {
    state.value = isOn;
  };
  return { isOn: state.value, on: set(true), off: set(false), flip: () => set(!state.peek())() };
}
