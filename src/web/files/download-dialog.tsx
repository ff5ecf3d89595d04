import type { VNode } from "preact";
import { useLayoutEffect, useRef } from "preact/hooks";
import { endpointPath } from "../../protocol/endpoints/endpoint.ts";
import { endpoints } from "../../protocol/endpoints/endpoints.ts";
import { sessionEndpoints } from "../../protocol/endpoints/session.ts";
import type { SessionRecord } from "../../protocol/schemas/session.ts";
import type { WorkspaceProps } from "../app/view-props.ts";
import { SubmitButton } from "../components/button.tsx";
import { Dialog } from "../components/dialog.tsx";
import { useSubmission } from "../components/submission.ts";
import { PLAIN_TEXT, TextField } from "../components/text-field.tsx";

type DownloadDialogProps = WorkspaceProps & {
  readonly record: SessionRecord;
  readonly onClose: () => void;
};

/** Asks for the path of a file on the session's machine. */
export function DownloadDialog({ workspace, record, onClose }: DownloadDialogProps): VNode {
  const field = useRef<HTMLInputElement>(null);
  useLayoutEffect(() => field.current?.focus(), []);
  const { isBusy, failure, onSubmit } = useSubmission("The file was not downloaded.", async (fields) => {
    await download(workspace.client, record.id, String(fields.get("path")));
    onClose();
  });
  return (
    <Dialog
      title="Download a file"
      about={`From ${record.source ?? "the server's machine"}. A relative path starts at the session's current directory, and ~ is the home directory.`}
      onClose={onClose}
    >
      <form class="share-form" onSubmit={onSubmit}>
        <TextField
          label="Path"
          name="path"
          input={field}
          required
          {...PLAIN_TEXT}
          placeholder="build/report.pdf"
          failure={failure}
        />
        <SubmitButton isBusy={isBusy} busy="Looking for the file…">
          Download
        </SubmitButton>
      </form>
    </Dialog>
  );
}

/** Lets the browser download the file. Rejects with the server's error if there is none. */
async function download(
  client: WorkspaceProps["workspace"]["client"],
  id: string,
  path: string,
): Promise<void> {
  const check = new AbortController();
  await client.stream(sessionEndpoints.downloadFile, { params: { id }, query: { path } }, check.signal);
  check.abort();
  // Valid for one request, so it may be part of an address.
  const { ticket: token } = await client.call(endpoints.createWsTicket);
  const link = document.createElement("a");
  link.href = `${endpointPath(sessionEndpoints.downloadFile, { id })}?${new URLSearchParams({ path, token })}`;
  link.download = "";
  link.click();
}
