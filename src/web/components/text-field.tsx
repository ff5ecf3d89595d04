import type { AllHTMLAttributes, RefObject, VNode } from "preact";
import { useId } from "preact/hooks";
import { Failure } from "./failure.tsx";

type Attributes = Pick<
  AllHTMLAttributes<HTMLInputElement>,
  | "name"
  | "defaultValue"
  | "placeholder"
  | "autocomplete"
  | "autocapitalize"
  | "spellcheck"
  | "maxLength"
  | "required"
  | "onInput"
  | "onChange"
>;

/** For names, paths and commands, which are no prose. */
export const PLAIN_TEXT = { autocomplete: "off", autocapitalize: "none", spellcheck: false } as const;

type TextFieldProps = Attributes & {
  readonly label: string;
  readonly isPassword?: boolean;
  /** The error of the value. */
  readonly failure?: string | undefined;
  readonly input?: RefObject<HTMLInputElement | null>;
};

/** A field with its label above and its error below. */
export function TextField({
  label,
  isPassword = false,
  failure,
  input,
  ...attributes
}: TextFieldProps): VNode {
  const id = useId();
  const kind = isPassword ? ({ type: "password" } as const) : ({ type: "text" } as const);
  const isWrong = failure !== undefined;
  return (
    <div class="field-group">
      <label class="field">
        <span>{label}</span>
        <input
          {...attributes}
          {...kind}
          {...(input !== undefined && { ref: input })}
          {...(isWrong && { "aria-invalid": "true", "aria-describedby": id })}
        />
      </label>
      <Failure id={id} words={failure} />
    </div>
  );
}
