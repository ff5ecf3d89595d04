import type { VNode } from "preact";

type LifetimeFieldProps = {
  readonly label: string;
  readonly choices: readonly { readonly seconds: number; readonly words: string }[];
};

/** A form's field `lifetime`, in seconds; the first choice is the default. */
export function LifetimeField({ label, choices }: LifetimeFieldProps): VNode {
  return (
    <label class="field">
      <span>{label}</span>
      <select name="lifetime">
        {choices.map(({ seconds, words }) => (
          <option key={seconds} value={seconds}>
            {words}
          </option>
        ))}
      </select>
    </label>
  );
}
