import { type Signal, useSignal } from "@preact/signals";
import type { VNode } from "preact";
import { useEffect, useRef } from "preact/hooks";
import type { Client } from "../../protocol/client/client.ts";
import { endpoints } from "../../protocol/endpoints/endpoints.ts";
import type { Passkey, PasskeyList } from "../../protocol/schemas/passkey.ts";
import { Confirm } from "../components/confirm.tsx";
import { Dialog } from "../components/dialog.tsx";
import { Failure } from "../components/failure.tsx";
import { Icon } from "../components/icon.tsx";
import { useSubmission } from "../components/submission.ts";
import { TextField } from "../components/text-field.tsx";
import { useToggle } from "../components/toggle.ts";
import { makePasskey } from "../login/passkeys.ts";
import { failureSentence } from "../sentence.ts";
import { RecoveryCodes } from "./recovery-codes.tsx";

type PasskeyDialogProps = { readonly client: Client; readonly onClose: () => void };

/** The second factor of the logged-in user: passkeys, and recovery codes. */
export function PasskeyDialog({ client, onClose }: PasskeyDialogProps): VNode {
  const codes = useSignal<readonly string[] | undefined>(undefined);
  const own = usePasskeys(client, codes);
  return (
    <Dialog
      title="Passkeys"
      about="Logging in with your password also requires one of these passkeys."
      onClose={onClose}
    >
      {codes.value !== undefined && <RecoveryCodes codes={codes.value} />}
      <Failure words={own.failure} />
      {own.list !== undefined && <PasskeyItems own={own} list={own.list} />}
      <NewPasskeyForm own={own} />
    </Dialog>
  );
}

type OwnPasskeys = {
  /** Undefined until they are read. */
  readonly list: PasskeyList | undefined;
  readonly failure: string | undefined;
  readonly add: (name: string) => Promise<void>;
  readonly remove: (passkey: Passkey) => void;
  readonly renewCodes: () => void;
};

function usePasskeys(client: Client, codes: Signal<readonly string[] | undefined>): OwnPasskeys {
  const list = useSignal<PasskeyList | undefined>(undefined);
  const failure = useSignal<string | undefined>(undefined);
  const read = async (): Promise<void> => {
    list.value = await client.call(endpoints.listPasskeys);
  };
  const attempt = async (otherwise: string, act: () => Promise<void>): Promise<void> => {
    failure.value = undefined;
    try {
      await act();
      await read();
    } catch (error) {
      failure.value = failureSentence(error, otherwise);
    }
  };
  useEffect(() => void attempt("Your passkeys could not be loaded.", async () => {}), [client]);
  return {
    list: list.value,
    failure: failure.value,
    add: async (name) => {
      const { challengeId, registration: options } = await client.call(endpoints.passkeyOptions);
      const registration = await makePasskey(options);
      const made = await client.call(endpoints.createPasskey, { body: { challengeId, name, registration } });
      codes.value = made.recoveryCodes;
      await read();
    },
    remove: ({ id: passkeyId }) =>
      void attempt("The passkey was not removed.", async () => {
        await client.call(endpoints.removePasskey, { params: { passkeyId } });
        codes.value = undefined;
      }),
    renewCodes: () =>
      void attempt("The codes were not created.", async () => {
        codes.value = (await client.call(endpoints.createRecoveryCodes)).recoveryCodes;
      }),
  };
}

function PasskeyItems({ own, list }: { readonly own: OwnPasskeys; readonly list: PasskeyList }): VNode {
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
            onRemove={own.remove}
          />
        ))}
      </ul>
      <p class="share-form-foot">
        {recoveryCodes} recovery {recoveryCodes === 1 ? "code is" : "codes are"} left.{" "}
        <button type="button" class="button small" onClick={own.renewCodes}>
          Create new codes
        </button>
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
  const question = useToggle();
  const { name, createdAt, lastUsedAt } = passkey;
  const used = lastUsedAt === undefined ? "not used yet" : `used on ${dayOf(lastUsedAt)}`;
  return (
    <li>
      <Icon name="key" />
      <span>{name}</span>
      <span class="muted">
        made on {dayOf(createdAt)}, {used}
      </span>
      <button type="button" class="button ghost small" aria-label={`Remove ${name}`} onClick={question.on}>
        <Icon name="trash" />
      </button>
      {question.isOn && (
        <Confirm
          question={`Remove “${name}”?`}
          detail={
            isLast
              ? "This is your last passkey. Your recovery codes become invalid with it."
              : "It can no longer be used to log in. Remove it from the device as well."
          }
          yes="Remove"
          onYes={() => onRemove(passkey)}
          onClose={question.off}
        />
      )}
    </li>
  );
}

function NewPasskeyForm({ own }: { readonly own: OwnPasskeys }): VNode {
  const form = useRef<HTMLFormElement>(null);
  const { isBusy, failure, onSubmit } = useSubmission("The passkey was not created.", async (fields) => {
    await own.add(String(fields.get("name")));
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
      <button type="submit" class="button primary wide" disabled={isBusy}>
        {isBusy ? "Creating…" : "Add a passkey"}
      </button>
    </form>
  );
}

function dayOf(time: string): string {
  return new Date(time).toLocaleDateString();
}
