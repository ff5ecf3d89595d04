import { useSignal } from "@preact/signals";
import type { ComponentChildren, VNode } from "preact";
import { BackButton, SubmitButton } from "../../components/button.tsx";
import { useSubmission } from "../../components/submission.ts";
import type { NewKey } from "../keys/keyring.ts";
import type { StoredKey } from "../keys/stored-key.ts";
import { NewPassword, newPassword } from "./new-password.tsx";

export type KeyFormProps = {
  readonly title: string;
  /** The button's label, and its label during the action. */
  readonly verb: string;
  readonly busy: string;
  /** Adds the key to the keyring. */
  readonly act: (request: NewKey) => Promise<StoredKey>;
  readonly onDone: (key: StoredKey) => void;
  readonly onBack: () => void;
  /** The fields above the password; the field `name` names the key. They show errors. */
  readonly children: (failure: string | undefined) => ComponentChildren;
};

/** The common part of creating and importing: a name, an optional password, and progress. */
export function KeyForm({ title, verb, busy, act, onDone, onBack, children }: KeyFormProps): VNode {
  const mismatch = useSignal<string | undefined>(undefined);
  const { isBusy, failure, onSubmit } = useSubmission("This did not work.", async (fields) => {
    const password = newPassword(fields);
    mismatch.value = password === undefined ? "The passwords differ." : undefined;
    if (password !== undefined) onDone(await act({ name: String(fields.get("name") ?? ""), password }));
  });
  return (
    <form class="card-form" onSubmit={onSubmit}>
      <BackButton onClick={onBack} />
      <h1>{title}</h1>
      {children(failure)}
      <NewPassword failure={mismatch.value} />
      <SubmitButton isBusy={isBusy} busy={busy}>
        {verb}
      </SubmitButton>
    </form>
  );
}
