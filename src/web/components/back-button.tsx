import type { VNode } from "preact";
import { Icon } from "./icon.tsx";

/** Leads from a step of the card back to the login. */
export function BackButton({ onClick }: { readonly onClick: () => void }): VNode {
  return (
    <button type="button" class="button ghost small card-back" onClick={onClick}>
      <Icon name="back" />
      Back
    </button>
  );
}
