import type { VNode } from "preact";
import type { JoinTokenRecord } from "../../protocol/schemas/join.ts";
import type { Page } from "../app/page.ts";
import { Button } from "../components/button.tsx";
import { leftWords } from "../session/sharing/share-words.ts";
import type { MachineOverview } from "./machine-overview.ts";

type JoinTokensProps = { readonly page: Page; readonly overview: MachineOverview };

/** The join tokens that are still valid. */
export function JoinTokens({ page, overview }: JoinTokensProps): VNode | undefined {
  const tokens = overview.state.value?.tokens ?? [];
  if (tokens.length === 0) return undefined;
  const revoke = (token: JoinTokenRecord): void =>
    void page.notices.attempt("The join token was not revoked", () => overview.revokeToken(token));
  return (
    <section aria-labelledby="join-tokens">
      <h2 id="join-tokens">Join tokens</h2>
      <ul class="share-list" aria-label="Join tokens">
        {tokens.map((token) => (
          <li key={token.id}>
            <span class="mono">{token.name}</span>
            <span class="muted">{tokenWords(token, page.clock.now.value)}</span>
            <Button
              kind="danger-quiet small"
              label={`Revoke the join token for ${token.name}`}
              onClick={() => revoke(token)}
            >
              Revoke
            </Button>
          </li>
        ))}
      </ul>
    </section>
  );
}

function tokenWords({ reusable, expiresAt, createdBy }: JoinTokenRecord, now: number): string {
  return [
    reusable ? "any number of machines" : "one machine",
    expiresAt === undefined ? "of the HQ's options" : leftWords(Date.parse(expiresAt), now),
    ...(createdBy === undefined ? [] : [`by ${createdBy}`]),
  ].join(" · ");
}
