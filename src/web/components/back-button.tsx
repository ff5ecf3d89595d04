import type { VNode } from "preact";
import { Button } from "./button.tsx";

/** Leads from a step of the card back to the login. */
export function BackButton({ onClick }: { readonly onClick: () => void }): VNode {
  return (
    <Button look="ghost small card-back" icon="back" onClick={onClick}>
      Back
    </Button>
  );
}
