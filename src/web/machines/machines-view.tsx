import { useSignal } from "@preact/signals";
import type { VNode } from "preact";
import { useEffect } from "preact/hooks";
import { routeHash } from "../app/route.ts";
import type { WorkspaceProps } from "../app/view-props.ts";
import { Button } from "../components/button.tsx";
import { Failure } from "../components/failure.tsx";
import { type Option, Select } from "../components/select.tsx";
import { useToggle } from "../components/toggle.ts";
import { ViewFrame } from "../components/view-frame.tsx";
import { failureSentence } from "../sentence.ts";
import { Rows } from "../sessions/rows.tsx";
import { JoinDialog } from "./join-dialog.tsx";
import { JoinTokens } from "./join-tokens.tsx";
import { MachineItem } from "./machine-item.tsx";
import { chosenLines, type MachineOrder, machineLines } from "./machine-lines.ts";
import { MachineOverview } from "./machine-overview.ts";

const ORDERS: readonly Option<MachineOrder>[] = [
  { value: "name", words: "By name" },
  { value: "load", words: "Highest load" },
  { value: "latency", words: "Slowest" },
  { value: "sessions", words: "Most sessions" },
];

/** All machines of an HQ, and adding machines. */
export function MachinesView({ page, workspace }: WorkspaceProps): VNode {
  const isHq = workspace.machines.all.value !== undefined;
  const overview = useOverview(workspace, isHq);
  const joining = useToggle();
  const failure = overview?.failure.value;
  const mayManage = isHq && workspace.permissions.has("remotes:manage");
  return (
    <ViewFrame
      title="Machines"
      back={{ href: routeHash({ view: "list" }), words: "Sessions" }}
      actions={
        mayManage && (
          <Button kind="primary small" icon="plus" onClick={joining.on}>
            Add a machine…
          </Button>
        )
      }
    >
      {workspace.machines.isKnown.value && !isHq && (
        <p class="empty">This server is no HQ: it has no other machines.</p>
      )}
      <Failure
        words={
          failure === undefined ? undefined : failureSentence(failure, "The machines could not be read.")
        }
      />
      {isHq && overview !== undefined && (
        <MachineTable page={page} workspace={workspace} overview={overview} />
      )}
      {mayManage && overview !== undefined && <JoinTokens page={page} overview={overview} />}
      {joining.isOn && overview !== undefined && (
        <JoinDialog page={page} overview={overview} onClose={joining.off} />
      )}
    </ViewFrame>
  );
}

type MachineTableProps = WorkspaceProps & { readonly overview: MachineOverview };

function MachineTable({ page, workspace, overview }: MachineTableProps): VNode | undefined {
  const filter = useSignal("");
  const order = useSignal<MachineOrder>("name");
  const state = overview.state.value;
  if (state === undefined) return undefined;
  const lines = machineLines({ ...state, sessions: workspace.sessions.all.value ?? [] });
  const shown = chosenLines(lines, { filter: filter.value, order: order.value });
  return (
    <>
      <div class="view-tools">
        <input
          type="search"
          aria-label="Filter machines"
          placeholder="Name, state, version or label"
          value={filter.value}
          onInput={({ currentTarget }) => {
            filter.value = currentTarget.value;
          }}
        />
        <Select
          label="Order of machines"
          options={ORDERS}
          value={order.value}
          onChoose={(chosen) => {
            order.value = chosen;
          }}
        />
      </div>
      <p class="muted" aria-live="polite">
        {shown.length === lines.length ? lines.length : `${shown.length} of ${lines.length}`} machines
      </p>
      <Rows
        label="Machines"
        records={shown}
        current={undefined}
        row={(line) => (
          <MachineItem
            key={line.name}
            {...{ page, workspace, line, overview }}
            hqVersion={state.health.version}
          />
        )}
      />
    </>
  );
}

/** Undefined at a server that is no HQ. */
function useOverview(workspace: WorkspaceProps["workspace"], isHq: boolean): MachineOverview | undefined {
  const overview = useSignal<MachineOverview | undefined>(undefined);
  useEffect(() => {
    if (!isHq) return;
    const opened = new MachineOverview({
      ...{ client: workspace.client, stage: document },
      isManager: () => workspace.permissions.grants("remotes:manage"),
      subscribe: (listener) => workspace.subscribe(listener),
    });
    overview.value = opened;
    return () => {
      overview.value = undefined;
      opened[Symbol.dispose]();
    };
  }, [isHq]);
  return overview.value;
}
