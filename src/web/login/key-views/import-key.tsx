import { useSignal } from "@preact/signals";
import type { TargetedEvent, VNode } from "preact";
import { useId, useLayoutEffect, useRef } from "preact/hooks";
import { Failure } from "../../components/failure.tsx";
import { TextField } from "../../components/text-field.tsx";
import { MAX_KEY_FILE_CHARACTERS } from "../keys/format/pem.ts";
import { MAX_KEY_NAME_CHARACTERS } from "../keys/stored-key.ts";
import { KeyForm } from "./key-form.tsx";
import type { NewKeyProps } from "./make-key.tsx";

export function ImportKey({ keyring, onDone, onBack }: NewKeyProps): VNode {
  const file = useSignal("");
  const unread = useSignal<string | undefined>(undefined);
  const show = (text: string): void => {
    file.value = text;
    unread.value = undefined;
  };
  return (
    <KeyForm
      title="Import a key"
      verb="Import"
      busy="Importing…"
      act={(request) => keyring.import(file.value, request)}
      onDone={onDone}
      onBack={onBack}
    >
      {(failure) => (
        <>
          <p class="muted">An Ed25519 key without a password, as ssh-keygen or openssl writes it.</p>
          <KeyText text={file.value} failure={unread.value ?? failure} onText={show} />
          <FileButton onText={show} onFailure={(words) => (unread.value = words)} />
          <TextField
            label="Name"
            name="name"
            placeholder="as in the file"
            maxLength={MAX_KEY_NAME_CHARACTERS}
            autocomplete="off"
            spellcheck={false}
          />
        </>
      )}
    </KeyForm>
  );
}

type KeyTextProps = {
  readonly text: string;
  readonly failure: string | undefined;
  readonly onText: (text: string) => void;
};

function KeyText({ text, failure, onText }: KeyTextProps): VNode {
  const id = useId();
  const area = useRef<HTMLTextAreaElement>(null);
  useLayoutEffect(() => area.current?.focus(), []);
  useLayoutEffect(() => {
    if (failure !== undefined) area.current?.focus();
  }, [failure]);
  return (
    <div class="field-group">
      <label class="field">
        <span>Private key</span>
        <textarea
          ref={area}
          class="mono"
          rows={6}
          placeholder={"-----BEGIN OPENSSH PRIVATE KEY-----\n…\n-----END OPENSSH PRIVATE KEY-----"}
          autocomplete="off"
          autocapitalize="none"
          // Browsers may send text that they spell-check to a server.
          spellcheck={false}
          value={text}
          onInput={(event) => onText(event.currentTarget.value)}
          {...(failure !== undefined && { "aria-invalid": "true", "aria-describedby": id })}
        />
      </label>
      <Failure id={id} words={failure} />
    </div>
  );
}

type FileButtonProps = {
  readonly onText: (text: string) => void;
  readonly onFailure: (words: string) => void;
};

/** The file's text fills the field for pasted text. */
function FileButton({ onText, onFailure }: FileButtonProps): VNode {
  const read = async (event: TargetedEvent<HTMLInputElement>): Promise<void> => {
    const input = event.currentTarget;
    const [file] = input.files ?? [];
    if (file === undefined) return;
    try {
      if (file.size > MAX_KEY_FILE_CHARACTERS) onFailure("This file is too large for a key.");
      else onText(await file.text());
    } catch {
      onFailure("The browser cannot read this file.");
    }
    // Allows choosing the same file again after a change.
    input.value = "";
  };
  return (
    <label class="button file-button">
      <input type="file" onChange={(event) => void read(event)} />
      Choose a file
    </label>
  );
}
