import { useSignal } from "@preact/signals";
import type { TargetedEvent, VNode } from "preact";
import { useEffect, useRef } from "preact/hooks";
import type { CreateSessionBody } from "../../protocol/session.ts";
import { routeHash } from "../route.ts";
import { estimateSize } from "../terminal/cell-size.ts";
import { Icon } from "./icon.tsx";
import type { WorkspaceProps } from "./view-props.ts";

export function NewSession({ page, workspace }: WorkspaceProps): VNode {
  const failure = useSignal<string | undefined>(undefined);
  const isBusy = useSignal(false);
  const pane = useRef<HTMLElement>(null);
  const command = useRef<HTMLInputElement>(null);
  useEffect(() => command.current?.focus({ preventScroll: true }), []);
  const submit = async (event: TargetedEvent<HTMLFormElement>): Promise<void> => {
    event.preventDefault();
    isBusy.value = true;
    failure.value = undefined;
    try {
      const fields = new FormData(event.currentTarget);
      const size = estimateSize(pane.current ?? document.body, page.preferences.current.peek().fontSizePx);
      await workspace.start({ ...requestOf(fields), ...size });
    } catch (error) {
      failure.value = error instanceof Error ? error.message : "The session could not be started.";
    }
    isBusy.value = false;
  };
  return (
    <section class="new-session" ref={pane}>
      <form class="new-card" onSubmit={(event) => void submit(event)}>
        <a class="button ghost back" href={routeHash({ view: "list" })}>
          <Icon name="back" />
          Sessions
        </a>
        <h1>Start a session</h1>
        <p class="muted">It runs on the server and goes on when you close this page.</p>
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
            <input name="name" placeholder="as the command" maxLength={256} {...PLAIN_TEXT} />
          </label>
        </div>
        <p class="failure" role="alert">
          {failure.value !== undefined && <Icon name="warning" />}
          {failure}
        </p>
        <button type="submit" class="button primary wide" disabled={isBusy.value}>
          {isBusy.value ? "Starting…" : "Start"}
        </button>
      </form>
    </section>
  );
}

const PLAIN_TEXT = { autocomplete: "off", autocapitalize: "none", spellcheck: false } as const;

/** What is left empty is the server's to decide. */
function requestOf(fields: FormData): CreateSessionBody {
  const text = (name: string): string => String(fields.get(name) ?? "").trim();
  const [command, cwd, name] = [text("command"), text("cwd"), text("name")];
  return {
    ...(command === "" ? {} : { command }),
    ...(cwd === "" ? {} : { cwd }),
    ...(name === "" ? {} : { name }),
  };
}
