import { useSignal } from "@preact/signals";
import type { VNode } from "preact";
import { useEffect } from "preact/hooks";
import type { Client } from "../../../protocol/client/client.ts";
import type { Share, ShareMode } from "../../../protocol/schemas/share.ts";
import type { SessionViewer } from "../../../protocol/schemas/viewer.ts";
import { Button } from "../../components/button.tsx";
import { Failure } from "../../components/failure.tsx";
import { failureSentence } from "../../sentence.ts";
import { accessWords, leftWords } from "./share-words.ts";

export type Shares = {
  /** Undefined until they are read. */
  readonly all: readonly Share[] | undefined;
  readonly failure: string | undefined;
  readonly add: (share: Share) => void;
  readonly revoke: (share: Share) => Promise<void>;
  readonly setMode: (share: Share, mode: ShareMode) => Promise<void>;
};

/** The links of a session: read once, and updated by actions here. */
export function useShares(
  client: Pick<Client, "shares" | "revokeShare" | "updateShare">,
  sessionId: string,
): Shares {
  const all = useSignal<readonly Share[] | undefined>(undefined);
  const failure = useSignal<string | undefined>(undefined);
  const attempt = async (otherwise: string, act: () => Promise<void>): Promise<void> => {
    failure.value = undefined;
    try {
      await act();
    } catch (error) {
      failure.value = failureSentence(error, otherwise);
    }
  };
  const read = async (): Promise<void> => {
    const listed = await client.shares(sessionId);
    // Links created meanwhile may be missing in the answer.
    const ids = new Set(listed.map(({ id }) => id));
    const others = all.peek()?.filter((share) => share.sessionId === sessionId && !ids.has(share.id));
    all.value = [...listed, ...(others ?? [])];
  };
  const revoke = async (share: Share): Promise<void> => {
    await client.revokeShare(share);
    all.value = all.peek()?.filter(({ id }) => id !== share.id);
  };
  const setMode = async (share: Share, mode: ShareMode): Promise<void> => {
    const changed = await client.updateShare(share, mode);
    all.value = all.peek()?.map((each) => (each.id === share.id ? changed : each));
  };
  useEffect(() => void attempt("The links could not be loaded.", read), [sessionId]);
  return {
    all: all.value,
    failure: failure.value,
    add: (share) => {
      const others = (all.peek() ?? []).filter(({ id }) => id !== share.id);
      all.value = [...others, share];
    },
    revoke: (share) => attempt("The link was not revoked.", () => revoke(share)),
    setMode: (share, mode) => attempt("The link was not changed.", () => setMode(share, mode)),
  };
}

type ShareListProps = {
  readonly shares: Shares;
  readonly viewers: readonly SessionViewer[];
  /** Milliseconds since 1970. */
  readonly now: number;
};

/** The valid links, each with its current guests. */
export function ShareList({ shares, viewers, now }: ShareListProps): VNode {
  const current = shares.all?.filter(({ expiresAt }) => Date.parse(expiresAt) > now) ?? [];
  return (
    <section aria-label="Links">
      <Failure words={shares.failure} />
      {current.length > 0 && <h3>Links that work now</h3>}
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
            <Button
              look="small"
              onClick={() => void shares.setMode(share, share.mode === "type" ? "view" : "type")}
            >
              {share.mode === "type" ? "Stop typing" : "Allow typing"}
            </Button>
            <Button look="danger-quiet small" onClick={() => void shares.revoke(share)}>
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
