import type { VNode } from "preact";
import { SelectField } from "./select.tsx";

type LifetimeFieldProps = {
  readonly label: string;
  readonly choices: readonly { readonly seconds: number; readonly words: string }[];
};

/** A form's field `lifetime`, in seconds; the first choice is the default. */
export function LifetimeField({ label, choices }: LifetimeFieldProps): VNode {
  return (
    <SelectField
      label={label}
      name="lifetime"
      options={choices.map(({ seconds, words }) => ({ value: String(seconds), words }))}
    />
  );
}
