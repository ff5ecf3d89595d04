// Files dropped or pasted onto a session, and running uploads.
import { useSignal } from "@preact/signals";
import type { RefObject, VNode } from "preact";
import { useLayoutEffect } from "preact/hooks";
import type { SessionProps } from "../app/view-props.ts";
import { Button, keepFocus } from "../components/button.tsx";
import { Icon } from "../components/icon.tsx";
import type { Upload } from "./uploads.ts";

type SessionFilesProps = SessionProps & {
  /** The area that accepts dropped or pasted files. */
  readonly area: RefObject<HTMLElement | null>;
};

export function SessionFiles({ page, workspace, open, area }: SessionFilesProps): VNode {
  const isOver = useSignal(false);
  const { uploads } = open;
  const record = workspace.sessions.record(open.id);
  const mayUpload = open.phase.value.kind === "running" && workspace.permissions.has("sessions:files");
  useLayoutEffect(() => {
    if (area.current === null) return undefined;
    return listen(area.current, {
      mayUpload,
      onOver: (is) => {
        isOver.value = is;
      },
      onFiles: (files) => {
        uploads.send(files);
        open.emulator.focus();
      },
      onFolder: (name) =>
        page.notices.failed(`${name} was not sent`, new Error("it is a folder; pack it first")),
    });
  }, [open, area, mayUpload]);
  const list = uploads.list.value;
  return (
    <>
      {isOver.value && (
        <div class="drop-target">
          <p>
            <Icon name="upload" />
            <strong>Drop files to send them to this session</strong>
          </p>
          <p class="muted">
            They are saved in its current directory
            {record?.source === undefined ? "" : ` on ${record.source}`}, and their paths are typed.
          </p>
        </div>
      )}
      {list.length > 0 && (
        <ul class="uploads" aria-label="Files being sent">
          {list.map((upload) => (
            <UploadItem key={upload.id} upload={upload} onCancel={() => uploads.cancel(upload.id)} />
          ))}
        </ul>
      )}
    </>
  );
}

function UploadItem({
  upload: { name, size, sentBytes },
  onCancel,
}: {
  readonly upload: Upload;
  readonly onCancel: () => void;
}): VNode {
  return (
    <li>
      <span class="upload-name" title={name}>
        {name}
      </span>
      <progress aria-label={`Sending ${name}`} max={Math.max(size, 1)} value={sentBytes} />
      <Button
        kind="ghost small"
        icon="close"
        label={`Cancel ${name}`}
        onMouseDown={keepFocus}
        onClick={onCancel}
      />
    </li>
  );
}

type FileListeners = {
  readonly mayUpload: boolean;
  readonly onOver: (isOver: boolean) => void;
  readonly onFiles: (files: readonly File[]) => void;
  readonly onFolder: (name: string) => void;
};

/** Prevents drops outside such areas, for which the browser would leave the page. */
function listen(area: HTMLElement, { mayUpload, onOver, onFiles, onFolder }: FileListeners): () => void {
  const abort = new AbortController();
  const { signal } = abort;
  const over = (event: DragEvent): void => {
    if (!mayUpload || !hasFiles(event)) return;
    event.preventDefault();
    event.dataTransfer.dropEffect = "copy";
    onOver(true);
  };
  const leave = ({ relatedTarget }: DragEvent): void => {
    if (!(relatedTarget instanceof Node && area.contains(relatedTarget))) onOver(false);
  };
  const drop = (event: DragEvent): void => {
    onOver(false);
    if (!mayUpload || !hasFiles(event)) return;
    event.preventDefault();
    const { files, folders } = droppedIn(event.dataTransfer);
    for (const name of folders) onFolder(name);
    if (files.length > 0) onFiles(files);
  };
  const paste = (event: ClipboardEvent): void => {
    const { clipboardData } = event;
    if (clipboardData === null || !mayUpload || clipboardData.files.length === 0) return;
    // Office programs also copy a table as a picture.
    if (["text/plain", "text/html"].every((type) => clipboardData.types.includes(type))) return;
    event.preventDefault();
    event.stopPropagation();
    onFiles([...clipboardData.files]);
  };
  const refuse = (event: DragEvent): void => {
    if (event.defaultPrevented || !hasFiles(event)) return;
    event.preventDefault();
    event.dataTransfer.dropEffect = "none";
  };
  const inArea = { capture: true, signal };
  area.addEventListener("dragenter", over, inArea);
  area.addEventListener("dragover", over, inArea);
  area.addEventListener("dragleave", leave, inArea);
  area.addEventListener("drop", drop, inArea);
  area.addEventListener("paste", paste, inArea);
  for (const type of ["dragenter", "dragover", "drop"] as const)
    area.ownerDocument.addEventListener(type, refuse, { signal });
  return () => abort.abort();
}

function hasFiles(event: DragEvent): event is DragEvent & { readonly dataTransfer: DataTransfer } {
  return event.dataTransfer?.types.includes("Files") === true;
}

function droppedIn({ items }: DataTransfer): {
  readonly files: readonly File[];
  readonly folders: readonly string[];
} {
  const files: File[] = [];
  const folders: string[] = [];
  for (const item of items) {
    const file = item.getAsFile();
    if (file === null) continue;
    if (item.webkitGetAsEntry()?.isDirectory === true) folders.push(file.name);
    else files.push(file);
  }
  return { files, folders };
}
