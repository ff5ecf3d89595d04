import { useSignal } from "@preact/signals";
import type { VNode } from "preact";
import { useId, useLayoutEffect, useRef } from "preact/hooks";
import type { SessionRecord } from "../../../protocol/schemas/session.ts";
import type { NewShare, ShareMode } from "../../../protocol/schemas/share.ts";
import type { SessionProps } from "../../app/view-props.ts";
import { SubmitButton } from "../../components/button.tsx";
import { Choice } from "../../components/choice.tsx";
import { CopyButton } from "../../components/copy-button.tsx";
import { Dialog } from "../../components/dialog.tsx";
import { Failure } from "../../components/failure.tsx";
import { Icon } from "../../components/icon.tsx";
import { LifetimeField } from "../../components/lifetime-field.tsx";
import { useSubmission } from "../../components/submission.ts";
import { nameWords } from "../words.ts";
import { ShareList, useShares } from "./share-list.tsx";

type ShareDialogProps = SessionProps & { readonly record: SessionRecord; readonly onClose: () => void };

/** Creates and revokes links to a session. */
export function ShareDialog({ page, workspace, open, record, onClose }: ShareDialogProps): VNode {
  const made = useSignal<NewShare | undefined>(undefined);
  const shares = useShares(workspace.client, record.id);
  // Until it is revoked.
  const isListed = ({ id }: NewShare): boolean => shares.all?.some((share) => share.id === id) ?? false;
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
          shares.add(share);
        }}
      />
      {made.value !== undefined && isListed(made.value) && <NewLink share={made.value} />}
      <ShareList shares={shares} viewers={open.viewers.value} now={page.clock.now.value} />
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

const HOUR_S = 3_600;
const LIFETIMES = [
  { seconds: HOUR_S, words: "1 hour" },
  { seconds: 8 * HOUR_S, words: "8 hours" },
  { seconds: 24 * HOUR_S, words: "1 day" },
  { seconds: 7 * 24 * HOUR_S, words: "1 week" },
  { seconds: 30 * 24 * HOUR_S, words: "30 days" },
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
            <span>Whoever types here does it as the user whose session this is.</span>
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
      <LifetimeField label="For how long" choices={LIFETIMES} />
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
        <label for={id}>The link, to be seen only now</label>
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
