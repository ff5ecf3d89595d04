import type { VNode } from "preact";
import { useId } from "preact/hooks";

type ChoiceProps<T extends string> = {
  /** What is chosen, for those who hear the page. */
  readonly label: string;
  readonly options: readonly { readonly value: T; readonly words: string }[];
  readonly value: T;
  readonly onChoose: (value: T) => void;
};

/** One of a few: all are seen, the arrow keys go from one to the next. */
export function Choice<T extends string>({ label, options, value, onChoose }: ChoiceProps<T>): VNode {
  const name = useId();
  return (
    <fieldset class="choice">
      <legend>{label}</legend>
      {options.map((option) => (
        <label key={option.value}>
          <input
            type="radio"
            name={name}
            checked={option.value === value}
            onChange={() => onChoose(option.value)}
          />
          <span>{option.words}</span>
        </label>
      ))}
    </fieldset>
  );
}
