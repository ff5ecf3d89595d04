import type { VNode } from "preact";
import { Icon } from "./icon.tsx";

type FailureProps = { readonly words: string | undefined; readonly id?: string };

/** Screen readers announce it; without a message it takes no space. */
export function Failure({ words, id }: FailureProps): VNode {
  return (
    <p class="failure" role="alert" {...(id !== undefined && { id })}>
      {words !== undefined && <Icon name="warning" />}
      {words !== undefined && <span>{words}</span>}
    </p>
  );
}
