import { useSignal } from "@preact/signals";
import type { VNode } from "preact";
import { useEffect } from "preact/hooks";
import { shareEndpoints } from "../../protocol/endpoints/session.ts";
import type { Share } from "../../protocol/schemas/share.ts";
import { routeHash, sessionRoute } from "../app/route.ts";
import type { WorkspaceProps } from "../app/view-props.ts";
import { Failure } from "../components/failure.tsx";
import { failureSentence } from "../sentence.ts";
import { accessWords, leftWords } from "../session/sharing/share-words.ts";
import { nameWords } from "../session/words.ts";

/** The links to all sessions that the user manages, to revoke them. */
export function LinkList({ page, workspace }: WorkspaceProps): VNode {
  const shares = useSignal<readonly Share[] | undefined>(undefined);
  const failure = useSignal<string | undefined>(undefined);
  const { client, sessions } = workspace;
  const now = page.clock.now.value;
  const read = async (act: () => Promise<void>): Promise<void> => {
    failure.value = undefined;
    try {
      await act();
      shares.value = await client.call(shareEndpoints.listAllShares);
    } catch (error) {
      failure.value = failureSentence(error, "The links could not be loaded.");
    }
  };
  useEffect(() => void read(async () => {}), [client]);
  const name = ({ sessionId }: Share): string => {
    const record = sessions.record(sessionId);
    return record === undefined ? sessionId : nameWords(record);
  };
  return (
    <>
      <Failure words={failure.value} />
      {shares.value?.length === 0 && <p class="muted">No link to any of your sessions works now.</p>}
      <ul class="share-list" aria-label="Share links">
        {shares.value?.map((share) => (
          <li key={share.id}>
            <a class="text-link" href={routeHash(sessionRoute(share.sessionId))}>
              {name(share)}
            </a>
            <span class="muted">
              {accessWords(share)} · {leftWords(Date.parse(share.expiresAt), now)} · by {share.createdBy}
            </span>
            <button
              type="button"
              class="button danger-quiet small"
              aria-label={`Revoke the link to ${name(share)}`}
              onClick={() => void read(() => client.revokeShare(share).then(() => undefined))}
            >
              Revoke
            </button>
          </li>
        ))}
      </ul>
    </>
  );
}
