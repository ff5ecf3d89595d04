import { useSignal } from "@preact/signals";
import type { VNode } from "preact";
import { useId, useLayoutEffect, useRef } from "preact/hooks";
import type { SessionRecord } from "../../../protocol/schemas/session.ts";
import type { NewShare, Share, ShareMode } from "../../../protocol/schemas/share.ts";
import type { SessionProps } from "../../app/view-props.ts";
import { SubmitButton } from "../../components/button.tsx";
import { Choice } from "../../components/choice.tsx";
import { CopyButton } from "../../components/copy-button.tsx";
import { Dialog } from "../../components/dialog.tsx";
import { Failure } from "../../components/failure.tsx";
import { Icon } from "../../components/icon.tsx";
import { useServerValue } from "../../components/loaded.ts";
import { SelectField } from "../../components/select.tsx";
import { useSubmission } from "../../components/submission.ts";
import { nameWords } from "../words.ts";
import { ShareList } from "./share-list.tsx";

type ShareDialogProps = SessionProps & { readonly record: SessionRecord; readonly onClose: () => void };

const UNREAD = "The links could not be loaded.";

/** Creates and revokes links to a session. */
export function ShareDialog({ page, workspace, open, record, onClose }: ShareDialogProps): VNode {
  const { client } = workspace;
  /** Until it is revoked. */
  const made = useSignal<NewShare | undefined>(undefined);
  const shares = useServerValue(UNREAD, [record.id], () => client.shares(record.id));
  const revoke = (share: Share): void =>
    shares.change("The link was not revoked.", async () => {
      await client.revokeShare(share);
      if (made.peek()?.id === share.id) made.value = undefined;
    });
  return (
    <Dialog
      title={`Share “${nameWords(record)}”`}
      about="Anyone with this link can open this session (only this one) without logging in."
      onClose={onClose}
    >
      <ShareForm
        workspace={workspace}
        record={record}
        onMade={(share) => {
          made.value = share;
          shares.change(UNREAD, async () => {});
        }}
      />
      {made.value !== undefined && <NewLink share={made.value} />}
      <Failure words={shares.failure} />
      <ShareList
        shares={shares.value ?? []}
        viewers={open.viewers.value}
        now={page.clock.now.value}
        onRevoke={revoke}
        onMode={(share, mode) =>
          shares.change("The link was not changed.", () => client.updateShare(share, mode))
        }
      />
    </Dialog>
  );
}

const MODES = [
  { value: "view", words: "View only" },
  { value: "type", words: "Can type" },
] as const;

const HISTORIES = [
  { value: "all", words: "Full history" },
  { value: "now", words: "New output only" },
] as const;

/** In seconds. */
const LIFETIMES = [
  { value: "3600", words: "1 hour" },
  { value: "28800", words: "8 hours" },
  { value: "86400", words: "1 day" },
  { value: "604800", words: "1 week" },
  { value: "2592000", words: "30 days" },
];

type ShareFormProps = Omit<ShareDialogProps, "page" | "open" | "onClose"> & {
  readonly onMade: (share: NewShare) => void;
};

function ShareForm({ workspace, record, onMade }: ShareFormProps): VNode {
  const mode = useSignal<ShareMode>("view");
  const history = useSignal<"all" | "now">("all");
  const { isBusy, failure, onSubmit } = useSubmission("The link was not created.", async (fields) => {
    const expiresIn = Number(fields.get("lifetime"));
    const hasHistory = history.peek() === "all";
    const rights = { mode: mode.peek(), resize: fields.has("resize") };
    onMade(await workspace.client.share(record.id, { ...rights, history: hasHistory, expiresIn }));
  });
  return (
    <form class="share-form" onSubmit={onSubmit}>
      <Choice
        label="Access"
        options={MODES}
        value={mode.value}
        onChoose={(value) => {
          mode.value = value;
        }}
      />
      {mode.value === "type" && (
        <>
          <p class="caution">
            <Icon name="warning" />
            <span>Guests who type act as the owner of this session.</span>
          </p>
          <label class="share-check">
            <input type="checkbox" name="resize" class="share-tick" />
            <span>May also resize the terminal</span>
          </label>
        </>
      )}
      <Choice
        label="History"
        options={HISTORIES}
        value={history.value}
        onChoose={(value) => {
          history.value = value;
        }}
      />
      <SelectField label="For how long" name="lifetime" options={LIFETIMES} />
      <Failure words={failure} />
      <SubmitButton isBusy={isBusy} busy="Creating the link…">
        Create a link
      </SubmitButton>
    </form>
  );
}

/** Names that refer to a different machine at each user. */
const LOOPBACK_NAME = /^(?:.+\.)?localhost$|^127\.[\d.]+$|^\[::1\]$/;

/** The link is in no list: the server no longer knows it. */
function NewLink({ share }: { readonly share: NewShare }): VNode {
  const link = share.isPublic ? share.url : `${location.origin}${share.path}`;
  const isLocal = LOOPBACK_NAME.test(new URL(link).hostname);
  const id = useId();
  const field = useRef<HTMLInputElement>(null);
  useLayoutEffect(() => field.current?.select(), [link]);
  return (
    <div class="new-link" role="status">
      <div class="field">
        <label for={id}>The link, shown only once</label>
        <div class="command">
          <input
            ref={field}
            id={id}
            class="mono"
            readOnly
            value={link}
            onFocus={(event) => event.currentTarget.select()}
          />
          <CopyButton text={link} label="Copy the link" />
        </div>
      </div>
      {isLocal && (
        <p class="caution">
          <Icon name="warning" />
          <span>
            This link works on this machine only. Open the page at an address that others can reach, or start
            the server with <code>--public-url</code>.
          </span>
        </p>
      )}
    </div>
  );
}
