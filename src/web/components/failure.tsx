import type { VNode } from "preact";
import { Icon } from "./icon.tsx";

type FailureProps = { readonly words: string | undefined; readonly id?: string };

/** Read out when it comes; takes no room while there is none. */
export function Failure({ words, id }: FailureProps): VNode {
  return (
    <p class="failure" role="alert" {...(id !== undefined && { id })}>
      {words !== undefined && <Icon name="warning" />}
      {words !== undefined && <span>{words}</span>}
    </p>
  );
}
