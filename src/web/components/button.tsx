import type { ButtonHTMLAttributes, ComponentChildren, VNode } from "preact";
import { Icon, type IconName } from "./icon.tsx";

export type ButtonProps = Pick<
  ButtonHTMLAttributes<HTMLButtonElement>,
  "title" | "disabled" | "onClick" | "onMouseDown" | "aria-expanded" | "aria-pressed"
> & {
  /** Further classes of controls.css: the size and the kind. */
  readonly kind?: string;
  readonly icon?: IconName;
  /** For screen readers, if the content is only an icon or is not unique. */
  readonly label?: string;
  readonly children?: ComponentChildren;
};

export function Button({ kind = "", icon, label, children, ...attributes }: ButtonProps): VNode {
  return (
    <button type="button" class={`button ${kind}`.trimEnd()} aria-label={label} {...attributes}>
      {icon !== undefined && <Icon name={icon} />}
      {children}
    </button>
  );
}

/** For `onMouseDown` of a button that vanishes when it is used: the focus stays where it is. */
export function keepFocus(event: Event): void {
  event.preventDefault();
}

type SubmitButtonProps = {
  readonly kind?: string;
  readonly icon?: IconName;
  readonly isBusy: boolean;
  /** The text during the action. */
  readonly busy: string;
  /** If the form cannot be sent yet. */
  readonly disabled?: boolean;
  readonly children: ComponentChildren;
};

export function SubmitButton({
  kind = "primary wide",
  icon,
  isBusy,
  busy,
  disabled = false,
  children,
}: SubmitButtonProps): VNode {
  return (
    <button type="submit" class={`button ${kind}`.trimEnd()} disabled={isBusy || disabled}>
      {icon !== undefined && <Icon name={icon} />}
      {isBusy ? busy : children}
    </button>
  );
}

/** Leads from a step of the card back to the login. */
export function BackButton({ onClick }: Pick<ButtonProps, "onClick">): VNode {
  return (
    <Button kind="ghost small card-back" icon="back" onClick={onClick}>
      Back
    </Button>
  );
}
