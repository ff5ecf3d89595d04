import type { SelectHTMLAttributes, VNode } from "preact";
import { useId } from "preact/hooks";

export type Option<T extends string> = { readonly value: T; readonly words: string };

type SelectProps<T extends string> = Pick<
  SelectHTMLAttributes<HTMLSelectElement>,
  "id" | "name" | "required"
> & {
  readonly options: readonly Option<T>[];
  /** Without it the first option is chosen. */
  readonly value?: T;
  /** For screen readers, if no label stands beside it. */
  readonly label?: string;
  readonly onChoose?: (value: T) => void;
};

/** A choice from a list that opens. */
export function Select<T extends string>({ options, label, onChoose, ...attributes }: SelectProps<T>): VNode {
  return (
    <select
      aria-label={label}
      {...attributes}
      onChange={({ currentTarget }) => {
        const chosen = options[currentTarget.selectedIndex];
        if (chosen !== undefined) onChoose?.(chosen.value);
      }}
    >
      {options.map(({ value, words }, index) => (
        <option key={index} value={value}>
          {words}
        </option>
      ))}
    </select>
  );
}

/** With its label above. */
export function SelectField<T extends string>({
  label,
  ...select
}: SelectProps<T> & { readonly label: string }): VNode {
  const id = useId();
  return (
    <div class="field">
      <label for={id}>{label}</label>
      <Select id={id} {...select} />
    </div>
  );
}
