import type { VNode } from "preact";
import { useLayoutEffect, useRef } from "preact/hooks";
import { Failure } from "../../components/failure.tsx";
import { TextField } from "../../components/text-field.tsx";
import type { Keyring } from "../keys/keyring.ts";
import { MAX_KEY_NAME_CHARACTERS, type StoredKey } from "../keys/stored-key.ts";
import { KeyForm } from "./key-form.tsx";

/** The properties of the steps that add a key to the keyring. */
export type NewKeyProps = {
  readonly keyring: Keyring;
  readonly onDone: (key: StoredKey) => void;
  readonly onBack: () => void;
};

export function MakeKey({ keyring, onDone, onBack }: NewKeyProps): VNode {
  const name = useRef<HTMLInputElement>(null);
  useLayoutEffect(() => {
    name.current?.focus();
    name.current?.select();
  }, []);
  return (
    <KeyForm
      title="Create a key"
      verb="Create the key"
      busy="Creating the key…"
      act={(request) => keyring.make(request)}
      onDone={onDone}
      onBack={onBack}
    >
      {(failure) => (
        <>
          <p class="muted">It is made in this browser, and its private half stays here.</p>
          <TextField
            input={name}
            label="Name"
            name="name"
            defaultValue={defaultName()}
            maxLength={MAX_KEY_NAME_CHARACTERS}
            autocomplete="off"
            spellcheck={false}
            required
          />
          <Failure words={failure} />
        </>
      )}
    </KeyForm>
  );
}

/** A comment that distinguishes keys in a file. */
function defaultName(): string {
  const now = new Date();
  const parts = [now.getFullYear(), now.getMonth() + 1, now.getDate()];
  return `ttyhq-${parts.map((part) => String(part).padStart(2, "0")).join("-")}`;
}
