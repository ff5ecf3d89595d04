import { useSignal } from "@preact/signals";
import type { TargetedEvent, VNode } from "preact";
import { useEffect } from "preact/hooks";
import { serverEndpoints } from "../../protocol/endpoints/server.ts";
import { type AuditPage, AuditResult } from "../../protocol/schemas/audit.ts";
import { routeHash } from "../app/route.ts";
import type { WorkspaceProps } from "../app/view-props.ts";
import { Button } from "../components/button.tsx";
import { Failure } from "../components/failure.tsx";
import { useLatest } from "../components/loaded.ts";
import { PLAIN_TEXT } from "../components/text-field.tsx";
import { ViewFrame } from "../components/view-frame.tsx";
import { failureSentence } from "../sentence.ts";
import { AuditTable } from "./audit-table.tsx";

/** Each filled field is a condition. Times use the browser's clock. */
export type AuditFilter = Readonly<
  Record<"user" | "action" | "session" | "result" | "since" | "until", string>
>;

const NO_FILTER: AuditFilter = { user: "", action: "", session: "", result: "", since: "", until: "" };

/** The audit log of this server, or of all HQs that share a registry, for auditors and admins. */
export function AuditView({ workspace }: WorkspaceProps): VNode {
  const { client } = workspace;
  const filter = useSignal(NO_FILTER);
  const pages = useSignal<readonly AuditPage[]>([]);
  const failure = useSignal<string | undefined>(undefined);
  const isBusy = useSignal(false);
  const begin = useLatest();
  const read = async (before: readonly AuditPage[]): Promise<void> => {
    const isLatest = begin();
    isBusy.value = true;
    failure.value = undefined;
    try {
      const query = { ...auditQuery(filter.peek()), cursor: before.at(-1)?.next };
      const page = await client.call(serverEndpoints.readAudit, { query });
      if (isLatest()) pages.value = [...before, page];
    } catch (error) {
      if (isLatest()) failure.value = failureSentence(error, "The audit log could not be read.");
    }
    if (isLatest()) isBusy.value = false;
  };
  useEffect(() => void read([]), [client]);
  const onFilter = (chosen: AuditFilter): void => {
    filter.value = chosen;
    void read([]);
  };
  const entries = pages.value.flatMap((page) => page.entries);
  return (
    <ViewFrame title="Audit log" back={{ href: routeHash({ view: "list" }), words: "Sessions" }}>
      <FilterForm onFilter={onFilter} />
      <Failure words={failure.value} />
      {pages.value.length > 0 && <AuditTable entries={entries} />}
      {pages.value.at(-1)?.next !== undefined && (
        <Button disabled={isBusy.value} onClick={() => void read(pages.peek())}>
          {isBusy.value ? "Reading…" : "Older entries"}
        </Button>
      )}
    </ViewFrame>
  );
}

function auditQuery({ since, until, result, ...texts }: AuditFilter) {
  const given = Object.fromEntries(Object.entries(texts).filter(([, text]) => text !== ""));
  return {
    ...given,
    ...(since !== "" && { since: new Date(since).toISOString() }),
    ...(until !== "" && { until: new Date(until).toISOString() }),
    result: AuditResult.options.find((each) => each === result),
  };
}

const TEXT_FIELDS = [
  { name: "user", label: "User" },
  { name: "action", label: "Action", placeholder: "login" },
  { name: "session", label: "Session" },
] as const;

function FilterForm({ onFilter }: { readonly onFilter: (filter: AuditFilter) => void }): VNode {
  const submit = (event: TargetedEvent<HTMLFormElement>): void => {
    event.preventDefault();
    const fields = new FormData(event.currentTarget);
    const text = (name: string): string => String(fields.get(name) ?? "").trim();
    onFilter({
      ...{ user: text("user"), action: text("action"), session: text("session") },
      ...{ result: text("result"), since: text("since"), until: text("until") },
    });
  };
  return (
    <form class="view-tools audit-filter" aria-label="Filter" onSubmit={submit}>
      {TEXT_FIELDS.map(({ label, ...field }) => (
        <label key={label}>
          <span>{label}</span>
          <input {...field} {...PLAIN_TEXT} />
        </label>
      ))}
      <label>
        <span>Result</span>
        <select name="result">
          <option value="">any</option>
          {AuditResult.options.map((result) => (
            <option key={result}>{result}</option>
          ))}
        </select>
      </label>
      <div class="audit-times">
        <label>
          <span>From</span>
          <input type="datetime-local" name="since" />
        </label>
        <label>
          <span>Before</span>
          <input type="datetime-local" name="until" />
        </label>
      </div>
      <button type="submit" class="button">
        Show
      </button>
    </form>
  );
}
