import type { RefObject, VNode } from "preact";
import { useLayoutEffect, useRef } from "preact/hooks";
import type { CreateSessionBody } from "../../protocol/schemas/session.ts";
import { routeHash } from "../app/route.ts";
import type { WorkspaceProps } from "../app/view-props.ts";
import { SubmitButton } from "../components/button.tsx";
import { CopyButton } from "../components/copy-button.tsx";
import { Failure } from "../components/failure.tsx";
import { Icon } from "../components/icon.tsx";
import { useSubmission } from "../components/submission.ts";
import { PLAIN_TEXT } from "../components/text-field.tsx";
import { joinCommand } from "../machines/join-command.ts";
import type { Machine } from "../machines/machine-list.ts";
import { plainWords } from "../machines/outage.ts";
import type { Preferences } from "../preferences.ts";
import { estimateSize } from "../terminal/emulator/cell-size.ts";

export function NewSession({ page, workspace }: WorkspaceProps): VNode {
  const pane = useRef<HTMLElement>(null);
  // Including those that left: the form stays until they are back.
  const machines = workspace.machines.all.value;
  const login = page.login.state.value;
  const { permissions } = workspace;
  const mayAdd = permissions.has("remotes:manage");
  const joining = <AddMachine isOpen={login.kind === "in" && login.access.kind === "open"} />;
  return (
    <section class="new-session" ref={pane}>
      <div class="new-card">
        <a class="button ghost back" href={routeHash({ view: "list" })}>
          <Icon name="back" />
          Sessions
        </a>
        {machines?.length === 0 && mayAdd && (
          <>
            <h1>Add a machine</h1>
            {joining}
          </>
        )}
        {machines?.length === 0 && !mayAdd && <p class="muted">No machine of this HQ is reachable.</p>}
        {machines?.length !== 0 && permissions.has("sessions:create") && (
          <SessionForm page={page} workspace={workspace} pane={pane} machines={machines} />
        )}
        {machines?.length !== 0 && permissions.isKnown && !permissions.has("sessions:create") && (
          <OnlyWatching />
        )}
        {machines !== undefined && machines.length > 0 && mayAdd && (
          <details class="more">
            <summary>Add a machine</summary>
            {joining}
          </details>
        )}
      </div>
    </section>
  );
}

/** Replaces the form for roles that start no sessions. */
function OnlyWatching(): VNode {
  return (
    <>
      <h1>Choose a session</h1>
      <p class="muted">You can watch the sessions in the list. Your role does not start any.</p>
    </>
  );
}

type SessionFormProps = WorkspaceProps & {
  /** The place of the future terminal. */
  readonly pane: RefObject<HTMLElement | null>;
  /** The machines to choose from; undefined without a choice. */
  readonly machines: readonly Machine[] | undefined;
};

function SessionForm({ page, workspace, pane, machines }: SessionFormProps): VNode {
  const command = useRef<HTMLInputElement>(null);
  useLayoutEffect(() => command.current?.focus({ preventScroll: true }), []);
  const { isBusy, failure, onSubmit } = useSubmission(failureWords, async (fields) => {
    const size = estimateSize(pane.current ?? document.body, page.preferences.current.peek());
    await workspace.start({ ...requestOf(fields), ...size });
  });
  const place = machines === undefined ? "the server" : "the machine";
  return (
    <form class="new-form" onSubmit={onSubmit}>
      <h1>Start a session</h1>
      <p class="muted">It runs on {place} and keeps running after you close this page.</p>
      {machines !== undefined && <MachineField machines={machines} preferences={page.preferences} />}
      <label class="field">
        <span>Command</span>
        <input ref={command} name="command" class="mono" placeholder="your login shell" {...PLAIN_TEXT} />
      </label>
      <div class="field-pair">
        <label class="field">
          <span>Folder</span>
          <input name="cwd" class="mono" placeholder="~" {...PLAIN_TEXT} />
        </label>
        <label class="field">
          <span>Name</span>
          <input name="name" placeholder="the command" maxLength={256} {...PLAIN_TEXT} />
        </label>
      </div>
      <Failure words={failure} />
      <SubmitButton isBusy={isBusy} busy="Starting…">
        Start
      </SubmitButton>
    </form>
  );
}

/** The server decides about empty fields. */
function requestOf(fields: FormData): CreateSessionBody {
  const text = (name: string): string => String(fields.get(name) ?? "").trim();
  const [command, cwd, name, remoteId] = [text("command"), text("cwd"), text("name"), text("machine")];
  return {
    ...(command === "" ? {} : { command }),
    ...(cwd === "" ? {} : { cwd }),
    ...(name === "" ? {} : { name }),
    ...(remoteId === "" ? {} : { remoteId }),
  };
}

function failureWords(error: unknown): string {
  const words = error instanceof Error ? error.message : "The session could not be started.";
  return plainWords(error) ?? words;
}

/** How a machine joins this HQ. `isOpen`: no login is required. */
function AddMachine({ isOpen }: { readonly isOpen: boolean }): VNode {
  const { text, hints } = joinCommand({ origin: location.origin, isOpen });
  return (
    <div class="add-machine">
      <p class="muted">Run this on the machine. It joins by itself and then stands in the list.</p>
      <div class="command">
        <pre class="mono">{text}</pre>
        <CopyButton text={text} />
      </div>
      {hints.length > 0 && (
        <ul class="hints">
          {hints.map((hint) => (
            <li key={hint}>{hint}</li>
          ))}
        </ul>
      )}
    </div>
  );
}

type MachineFieldProps = { readonly machines: readonly Machine[]; readonly preferences: Preferences };

/** The session's machine: the only one that can start it, or else the last chosen one. `value`s are the ids of machines. */
function MachineField({ machines, preferences }: MachineFieldProps): VNode {
  const last = preferences.current.value.machine;
  const free = machines.filter(({ isHere, isCordoned }) => isHere && !isCordoned);
  const chosen = free.length === 1 ? free[0] : free.find(({ name }) => name === last);
  return (
    <label class="field">
      <span>Machine</span>
      <select
        name="machine"
        required
        value={chosen?.id ?? ""}
        onChange={({ currentTarget }) => {
          const machine = machines.find(({ id }) => id === currentTarget.value);
          if (machine !== undefined) preferences.change({ machine: machine.name });
        }}
      >
        <option value="" disabled hidden>
          Choose a machine
        </option>
        {machines.map(({ id, name, url, isHere, isCordoned }) => (
          <option key={id} value={id} disabled={!isHere || isCordoned}>
            {url === undefined ? `${name} (the HQ itself)` : name}
            {isHere ? isCordoned && " (cordoned)" : " (offline)"}
          </option>
        ))}
      </select>
    </label>
  );
}
