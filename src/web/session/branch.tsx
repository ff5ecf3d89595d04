import type { VNode } from "preact";
import type { GitStatus } from "../../protocol/schemas/session.ts";
import { Icon } from "../components/icon.tsx";
import { branchWords } from "./branch-words.ts";

/** The branch of a session's folder, with a dot for uncommitted changes; nothing outside a repository. */
export function Branch({ git }: { readonly git: GitStatus }): VNode | undefined {
  const words = branchWords(git);
  if (words === undefined) return undefined;
  return (
    <span class="branch" title={words.title}>
      <Icon name="branch" />
      <span class="branch-name">{words.name}</span>
      {words.isDirty && <span class="branch-mark" role="img" aria-label="uncommitted changes" />}
      {words.distance !== "" && <span class="branch-distance">{words.distance}</span>}
    </span>
  );
}
