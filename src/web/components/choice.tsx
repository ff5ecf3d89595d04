import type { VNode } from "preact";
import { useId } from "preact/hooks";
import type { Option } from "./select.tsx";

type ChoiceProps<T extends string> = {
  /** The group's label for screen readers. */
  readonly label: string;
  readonly options: readonly Option<T>[];
  readonly value: T;
  readonly onChoose: (value: T) => void;
};

/** A choice of a few visible options; the arrow keys move between them. */
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
