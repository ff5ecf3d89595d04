import type { VNode } from "preact";
import { shareEndpoints } from "../../protocol/endpoints/session.ts";
import type { Share } from "../../protocol/schemas/share.ts";
import { routeHash, sessionRoute } from "../app/route.ts";
import type { WorkspaceProps } from "../app/view-props.ts";
import { Button } from "../components/button.tsx";
import { Failure } from "../components/failure.tsx";
import { useServerValue } from "../components/loaded.ts";
import { accessWords, leftWords } from "../session/sharing/share-words.ts";
import { nameWords } from "../session/words.ts";

/** The links to all sessions that the user manages, with a button to revoke each. */
export function LinkList({ page, workspace }: WorkspaceProps): VNode {
  const { client, sessions } = workspace;
  const now = page.clock.now.value;
  const { value: shares, ...links } = useServerValue("The links could not be loaded.", [client], () =>
    client.call(shareEndpoints.listAllShares),
  );
  const name = ({ sessionId }: Share): string => {
    const record = sessions.record(sessionId);
    return record === undefined ? sessionId : nameWords(record);
  };
  return (
    <>
      <Failure words={links.failure} />
      {shares?.length === 0 && <p class="muted">No link to any of your sessions works now.</p>}
      <ul class="share-list" aria-label="Share links">
        {shares?.map((share) => (
          <li key={share.id}>
            <a class="text-link" href={routeHash(sessionRoute(share.sessionId))}>
              {name(share)}
            </a>
            <span class="muted">
              {accessWords(share)} · {leftWords(Date.parse(share.expiresAt), now)} · by {share.createdBy}
            </span>
            <Button
              kind="danger-quiet small"
              label={`Revoke the link to ${name(share)}`}
              onClick={() => links.change("The link was not revoked.", () => client.revokeShare(share))}
            >
              Revoke
            </Button>
          </li>
        ))}
      </ul>
    </>
  );
}
