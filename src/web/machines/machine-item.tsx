import type { VNode } from "preact";
import { LOCAL } from "../../protocol/schemas/remote.ts";
import type { WorkspaceProps } from "../app/view-props.ts";
import { Button } from "../components/button.tsx";
import { ConfirmButton } from "../components/confirm.tsx";
import { agoWords } from "../session/words.ts";
import type { MachineLine, MachineState } from "./machine-lines.ts";
import type { MachineOverview } from "./machine-overview.ts";

type MachineItemProps = WorkspaceProps & {
  readonly line: MachineLine;
  readonly hqVersion: string;
  readonly overview: MachineOverview;
};

const STATES: Readonly<Record<MachineState, { readonly badge: string; readonly title: string }>> = {
  up: { badge: "good", title: "It answers, and starts sessions." },
  cordoned: { badge: "warn", title: "It starts no new sessions. Running ones keep running." },
  suspect: { badge: "warn", title: "It did not answer the last health check." },
  down: { badge: "bad", title: "It does not answer. Its sessions keep running, if the machine does." },
  left: { badge: "", title: "It has a key, and is not registered." },
};

/** Every machine has the same height: rows.tsx depends on it. */
export function MachineItem(props: MachineItemProps): VNode {
  const { name, state, url, labels } = props.line;
  return (
    <li class="machine-item" aria-label={name}>
      <div class="machine-name">
        <strong title={url}>{name === LOCAL ? "local (the HQ itself)" : name}</strong>
        <span class={`badge ${STATES[state].badge}`} title={STATES[state].title}>
          {state}
        </span>
        {labels.map((label) => (
          <span key={label} class="badge">
            {label}
          </span>
        ))}
      </div>
      <Numbers {...props} />
      <Actions {...props} />
    </li>
  );
}

const SEEN: Readonly<Partial<Record<MachineState, string>>> = { left: "joined", down: "down since" };

function Numbers({ page, line, hqVersion }: MachineItemProps): VNode {
  const { state, version, isOtherVersion, load, latencyMs, seen } = line;
  return (
    <div class="machine-numbers muted">
      <span>{sessionWords(line)}</span>
      {version !== undefined && !isOtherVersion && <span>{version}</span>}
      {version !== undefined && isOtherVersion && (
        <span class="warning" title={`The HQ has ${hqVersion}.`}>
          {version} (HQ: {hqVersion})
        </span>
      )}
      {load !== undefined && (
        <span title="Load average of the last minute, per CPU">load {load.toFixed(2)}</span>
      )}
      {latencyMs !== undefined && (
        <span title="Until it answered the last health check">{Math.round(latencyMs)} ms</span>
      )}
      {seen !== undefined && (
        <time dateTime={seen}>
          {SEEN[state] ?? "seen"} {agoWords(Date.parse(seen), page.clock.now.value)}
        </time>
      )}
    </div>
  );
}

function Actions({ page, workspace, line, overview }: MachineItemProps): VNode {
  const { name, state, hasKey } = line;
  const isCordoned = state === "cordoned";
  const verb = isCordoned ? "Uncordon" : "Cordon";
  const cordon = (): void =>
    void page.notices.attempt(`${name} was not changed`, () => overview.cordon(name, !isCordoned));
  return (
    <div class="machine-actions">
      {workspace.permissions.has("servers:cordon") && (state === "up" || isCordoned) && (
        <Button kind="small" label={`${verb} ${name}`} onClick={cordon}>
          {verb}
        </Button>
      )}
      {hasKey && (
        <ConfirmButton
          kind="danger-quiet small"
          label={`Revoke the key of ${name}`}
          question={`Revoke the key of ${name}?`}
          detail="The machine can register no more, and needs a new join token to come back. Its sessions keep running there."
          yes="Revoke"
          onYes={() => void page.notices.attempt("The key was not revoked", () => overview.revokeKey(name))}
        >
          Revoke key…
        </ConfirmButton>
      )}
    </div>
  );
}

function sessionWords({ running, ended }: MachineLine): string {
  return ended === 0 ? `${running} running` : `${running} running, ${ended} ended`;
}
