import type { VNode } from "preact";
import { useEffect } from "preact/hooks";
import type { SessionRecord } from "../../protocol/schemas/session.ts";
import type { WorkspaceProps } from "../app/view-props.ts";
import { ConfirmButton } from "../components/confirm.tsx";
import { type Option, Select } from "../components/select.tsx";
import type { ListOrder } from "../preferences.ts";
import type { StateFilter } from "./list-filter.ts";

/** A list up to this length needs no filter. */
const SHORT = 6;

const ORDERS: readonly Option<ListOrder>[] = [
  { value: "newest", words: "Newest first" },
  { value: "activity", words: "Last active first" },
  { value: "name", words: "By name" },
];
const STATES: readonly Option<StateFilter>[] = [
  { value: "all", words: "All states" },
  { value: "running", words: "Running" },
  { value: "ended", words: "Ended" },
];

/** Above a longer list: its filter, its order, and actions on all shown sessions. */
export function ListTools({ page, workspace }: WorkspaceProps): VNode | undefined {
  const { filter, sessions, permissions } = workspace;
  const isHq = workspace.machines.all.value !== undefined;
  const order = page.preferences.current.value.order;
  useActivity({ page, workspace });
  if ((sessions.all.value?.length ?? 0) <= SHORT && !filter.isOn.value) return undefined;
  const running = (filter.shown.value ?? []).filter(({ status }) => status !== "exited");
  return (
    <search class="list-tools">
      <input
        type="search"
        aria-label="Filter sessions"
        placeholder="Filter"
        autocomplete="off"
        spellcheck={false}
        value={filter.text.value}
        onInput={({ currentTarget }) => {
          filter.text.value = currentTarget.value;
        }}
      />
      <Select
        label="State"
        options={STATES}
        value={filter.state.value}
        onChoose={(state) => {
          filter.state.value = state;
        }}
      />
      <Select
        label="Order"
        options={isHq ? [{ value: "machine", words: "By machine" }, ...ORDERS] : ORDERS}
        value={order === "machine" && !isHq ? "newest" : order}
        onChoose={(chosen) => page.preferences.change({ order: chosen })}
      />
      {filter.isOn.value && running.length > 0 && permissions.has("sessions:manage") && (
        <EndShown workspace={workspace} running={running} />
      )}
    </search>
  );
}

/** The list gets no events for output, so its times are requested while the order depends on them. */
function useActivity({ page, workspace }: WorkspaceProps): void {
  const isWanted = page.preferences.current.value.order === "activity";
  const now = page.clock.now.value;
  useEffect(() => {
    if (!isWanted) return;
    // Without an answer the order stays.
    void workspace.client.list().then(
      (records) => workspace.filter.heard(records),
      () => undefined,
    );
  }, [isWanted, now, workspace]);
}

type EndShownProps = Pick<WorkspaceProps, "workspace"> & { readonly running: readonly SessionRecord[] };

function EndShown({ workspace, running }: EndShownProps): VNode {
  const words = `${running.length} ${running.length === 1 ? "session" : "sessions"}`;
  return (
    <ConfirmButton
      kind="small"
      question={`End ${words}?`}
      detail="These are all running sessions that the filter shows. Their programs get SIGHUP, and SIGKILL if they still run after three seconds. The recordings are kept."
      yes="End"
      onYes={() => void workspace.endAll(running)}
    >
      End {words}
    </ConfirmButton>
  );
}
