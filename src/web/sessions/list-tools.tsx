import type { VNode } from "preact";
import { useEffect } from "preact/hooks";
import type { SessionRecord } from "../../protocol/schemas/session.ts";
import type { WorkspaceProps } from "../app/view-props.ts";
import { Confirm } from "../components/confirm.tsx";
import { useToggle } from "../components/toggle.ts";
import { ListOrder } from "../preferences.ts";
import { StateFilter } from "./list-filter.ts";

/** A list up to this length needs no filter. */
const SHORT = 6;

const ORDERS = {
  newest: "Newest first",
  activity: "Last active first",
  name: "By name",
} as const;
const STATES = { all: "All states", running: "Running", ended: "Ended" } as const;

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
      <select
        aria-label="State"
        value={filter.state.value}
        onChange={({ currentTarget }) => {
          filter.state.value = StateFilter.parse(currentTarget.value);
        }}
      >
        <Options words={STATES} />
      </select>
      <select
        aria-label="Order"
        value={order === "machine" && !isHq ? "newest" : order}
        onChange={({ currentTarget }) =>
          page.preferences.change({ order: ListOrder.parse(currentTarget.value) })
        }
      >
        <Options words={isHq ? { machine: "By machine", ...ORDERS } : ORDERS} />
      </select>
      {filter.isOn.value && running.length > 0 && permissions.has("sessions:manage") && (
        <EndShown workspace={workspace} running={running} />
      )}
    </search>
  );
}

function Options({ words }: { readonly words: Readonly<Record<string, string>> }): readonly VNode[] {
  return Object.entries(words).map(([value, text]) => (
    <option key={value} value={value}>
      {text}
    </option>
  ));
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
  const question = useToggle();
  const sessions = running.length === 1 ? "session" : "sessions";
  return (
    <>
      <button type="button" class="button small" onClick={question.on}>
        End {running.length} {sessions}
      </button>
      {question.isOn && (
        <Confirm
          question={`End ${running.length} ${sessions}?`}
          detail="These are all running sessions that the filter shows. Their programs get SIGHUP, and SIGKILL if they still run after three seconds. The recordings are kept."
          yes="End"
          onYes={() => void workspace.endAll(running)}
          onClose={question.off}
        />
      )}
    </>
  );
}
