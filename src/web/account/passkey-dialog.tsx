import { useSignal } from "@preact/signals";
import type { VNode } from "preact";
import { useRef } from "preact/hooks";
import type { Client } from "../../protocol/client/client.ts";
import { endpoints } from "../../protocol/endpoints/endpoints.ts";
import type { Passkey, PasskeyList } from "../../protocol/schemas/passkey.ts";
import { Button, SubmitButton } from "../components/button.tsx";
import { ConfirmButton } from "../components/confirm.tsx";
import { Dialog } from "../components/dialog.tsx";
import { Failure } from "../components/failure.tsx";
import { Icon } from "../components/icon.tsx";
import { useServerValue } from "../components/loaded.ts";
import { useSubmission } from "../components/submission.ts";
import { TextField } from "../components/text-field.tsx";
import { makePasskey } from "../login/passkeys.ts";
import { RecoveryCodes } from "./recovery-codes.tsx";

type PasskeyDialogProps = { readonly client: Client; readonly onClose: () => void };

const UNREAD = "Your passkeys could not be loaded.";

/** The second factor of the logged-in user: passkeys, and recovery codes. */
export function PasskeyDialog({ client, onClose }: PasskeyDialogProps): VNode {
  const codes = useSignal<readonly string[] | undefined>(undefined);
  const own = useServerValue(UNREAD, [client], () => client.call(endpoints.listPasskeys));
  const add = async (name: string): Promise<void> => {
    const { challengeId, registration: options } = await client.call(endpoints.passkeyOptions);
    const registration = await makePasskey(options);
    const made = await client.call(endpoints.createPasskey, { body: { challengeId, name, registration } });
    // Only the first passkey comes with codes. Those that are shown stay valid.
    codes.value = made.recoveryCodes ?? codes.peek();
    own.change(UNREAD, async () => {});
  };
  const remove = ({ id: passkeyId }: Passkey): void =>
    own.change("The passkey was not removed.", async () => {
      await client.call(endpoints.removePasskey, { params: { passkeyId } });
      if (own.value?.passkeys.length === 1) codes.value = undefined;
    });
  const renewCodes = (): void =>
    own.change("The codes were not created.", async () => {
      codes.value = (await client.call(endpoints.createRecoveryCodes)).recoveryCodes;
    });
  return (
    <Dialog
      title="Passkeys"
      about="Logging in with your password also requires one of these passkeys."
      onClose={onClose}
    >
      {codes.value !== undefined && <RecoveryCodes codes={codes.value} />}
      <Failure words={own.failure} />
      {own.value !== undefined && <PasskeyItems list={own.value} onRemove={remove} onRenew={renewCodes} />}
      <NewPasskeyForm onAdd={add} />
    </Dialog>
  );
}

type PasskeyItemsProps = {
  readonly list: PasskeyList;
  readonly onRemove: (passkey: Passkey) => void;
  readonly onRenew: () => void;
};

function PasskeyItems({ list, onRemove, onRenew }: PasskeyItemsProps): VNode {
  const { passkeys, recoveryCodes } = list;
  if (passkeys.length === 0) return <p>You have none: the password alone is enough to log in.</p>;
  return (
    <div>
      <ul class="share-list">
        {passkeys.map((passkey) => (
          <PasskeyItem
            key={passkey.id}
            passkey={passkey}
            isLast={passkeys.length === 1}
            onRemove={onRemove}
          />
        ))}
      </ul>
      <p class="share-form-foot">
        {recoveryCodes} recovery {recoveryCodes === 1 ? "code is" : "codes are"} left.{" "}
        <Button kind="small" onClick={onRenew}>
          Create new codes
        </Button>
      </p>
    </div>
  );
}

type PasskeyItemProps = {
  readonly passkey: Passkey;
  readonly isLast: boolean;
  readonly onRemove: (passkey: Passkey) => void;
};

function PasskeyItem({ passkey, isLast, onRemove }: PasskeyItemProps): VNode {
  const { name, createdAt, lastUsedAt } = passkey;
  const used = lastUsedAt === undefined ? "not used yet" : `used on ${dayOf(lastUsedAt)}`;
  return (
    <li>
      <Icon name="key" />
      <span>{name}</span>
      <span class="muted">
        made on {dayOf(createdAt)}, {used}
      </span>
      <ConfirmButton
        kind="ghost small"
        icon="trash"
        label={`Remove ${name}`}
        question={`Remove “${name}”?`}
        detail={
          isLast
            ? "This is your last passkey. Your recovery codes become invalid with it."
            : "It can no longer be used to log in. Remove it from the device as well."
        }
        yes="Remove"
        onYes={() => onRemove(passkey)}
      />
    </li>
  );
}

type NewPasskeyFormProps = { readonly onAdd: (name: string) => Promise<void> };

function NewPasskeyForm({ onAdd }: NewPasskeyFormProps): VNode {
  const form = useRef<HTMLFormElement>(null);
  const { isBusy, failure, onSubmit } = useSubmission("The passkey was not created.", async (fields) => {
    await onAdd(String(fields.get("name")));
    form.current?.reset();
  });
  return (
    <form ref={form} class="share-form" onSubmit={onSubmit}>
      <TextField
        label="Name of the new passkey"
        name="name"
        placeholder="Laptop"
        maxLength={64}
        autocomplete="off"
        required
      />
      <Failure words={failure} />
      <SubmitButton isBusy={isBusy} busy="Creating…">
        Add a passkey
      </SubmitButton>
    </form>
  );
}

function dayOf(time: string): string {
  return new Date(time).toLocaleDateString();
}
