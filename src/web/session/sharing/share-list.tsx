import type { VNode } from "preact";
import type { Share, ShareMode } from "../../../protocol/schemas/share.ts";
import type { SessionViewer } from "../../../protocol/schemas/viewer.ts";
import { Button } from "../../components/button.tsx";
import { accessWords, leftWords } from "./share-words.ts";

type ShareListProps = {
  readonly shares: readonly Share[];
  readonly viewers: readonly SessionViewer[];
  /** Milliseconds since 1970. */
  readonly now: number;
  readonly onRevoke: (share: Share) => void;
  readonly onMode: (share: Share, mode: ShareMode) => void;
};

/** The valid links, each with its current guests. */
export function ShareList({ shares, viewers, now, onRevoke, onMode }: ShareListProps): VNode {
  const current = shares.filter(({ expiresAt }) => Date.parse(expiresAt) > now);
  return (
    <section aria-label="Links">
      {current.length > 0 && <h3>Active links</h3>}
      <ul class="share-list">
        {current.map((share) => (
          <li key={share.id}>
            <div class="share-link">
              <span>{accessWords(share)}</span>
              <span class="muted">
                {leftWords(Date.parse(share.expiresAt), now)} · by {share.createdBy}
              </span>
              <span class="muted">{guestWords(share, viewers)}</span>
            </div>
            <Button kind="small" onClick={() => onMode(share, share.mode === "type" ? "view" : "type")}>
              {share.mode === "type" ? "Stop typing" : "Allow typing"}
            </Button>
            <Button kind="danger-quiet small" onClick={() => onRevoke(share)}>
              Revoke
            </Button>
          </li>
        ))}
      </ul>
    </section>
  );
}

function guestWords({ id }: Share, viewers: readonly SessionViewer[]): string {
  const names = viewers.filter(({ shareId }) => shareId === id).map(({ name }) => name);
  return names.length === 0 ? "nobody watches" : `watching: ${names.join(", ")}`;
}
