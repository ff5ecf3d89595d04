import { useSignal } from "@preact/signals";
import type { VNode } from "preact";
import { useLayoutEffect, useRef } from "preact/hooks";
import { ServiceError } from "../../../protocol/errors.ts";
import { Button } from "../../components/button.tsx";
import { Failure } from "../../components/failure.tsx";
import { Icon } from "../../components/icon.tsx";
import { SelectField } from "../../components/select.tsx";
import { useSubmission } from "../../components/submission.ts";
import { TextField } from "../../components/text-field.tsx";
import { failureSentence } from "../../sentence.ts";
import type { Keyring, OpenKey } from "../keys/keyring.ts";
import type { StoredKey } from "../keys/stored-key.ts";
import type { LoginDraft, Step, WayProps } from "../login-props.ts";
import { UserField, userOf } from "../user-field.tsx";

type KeyLoginProps = WayProps & {
  readonly keyring: Keyring;
  /** The key for the login, if there is one. */
  readonly stored: StoredKey | undefined;
  readonly draft: LoginDraft;
  readonly go: (step: Step) => void;
};

export function KeyLogin(props: KeyLoginProps): VNode {
  const { keyring, stored, go } = props;
  if (keyring.obstacle !== undefined) {
    return (
      <p class="caution">
        <Icon name="warning" />
        <span>{keyring.obstacle}</span>
      </p>
    );
  }
  return (
    <>
      {stored === undefined ? (
        <p>There is no key in this browser yet. Make one here, or import one that you have.</p>
      ) : (
        <KeyForm {...props} key={stored.publicKey} stored={stored} />
      )}
      <div class="key-links">
        <Button icon="plus" onClick={() => go("make")}>
          Create a key
        </Button>
        <Button icon="key" onClick={() => go("import")}>
          Import a key
        </Button>
      </div>
    </>
  );
}

/** The server gives the same answer to every failure; these are the causes that a user can check. */
function sayWhy(error: unknown): never {
  if (!(error instanceof ServiceError) || error.code !== "invalid_credentials") throw error;
  const { code } = error;
  throw new ServiceError(
    code,
    "the server does not accept this key for that user: add its public key to their ~/.ssh/authorized_keys",
    { cause: error },
  );
}

function KeyForm(props: KeyLoginProps & { readonly stored: StoredKey }): VNode {
  const { login, keyring, user, stored, draft, go } = props;
  const password = useRef<HTMLInputElement>(null);
  const button = useRef<HTMLButtonElement>(null);
  const isLocked = stored.secret.kind === "locked";
  useLayoutEffect(() => (password.current ?? button.current)?.focus(), []);
  const wrong = useSignal<string | undefined>(undefined);
  const open = async (): Promise<OpenKey | undefined> => {
    wrong.value = undefined;
    try {
      return await keyring.open(stored, password.current?.value ?? "");
    } catch (error) {
      wrong.value = failureSentence(error, "The key cannot be decrypted.");
      password.current?.select();
      return undefined;
    }
  };
  const { isBusy, failure, onSubmit } = useSubmission("Login failed.", async (fields) => {
    const key = await open();
    if (key !== undefined) await login.withKey(userOf(fields), key).catch(sayWhy);
  });
  return (
    <form class="card-form" onSubmit={onSubmit}>
      <UserField user={user} />
      <KeyField
        keys={keyring.keys.value}
        stored={stored}
        onChoose={(publicKey) => {
          draft.key.value = publicKey;
        }}
        onDetails={() => {
          draft.key.value = stored.publicKey;
          go("sheet");
        }}
      />
      {isLocked ? (
        <TextField
          input={password}
          label="Password of the key"
          isPassword
          autocomplete="off"
          failure={wrong.value}
          required
        />
      ) : (
        <Failure words={wrong.value} />
      )}
      <Failure words={failure} />
      <button ref={button} type="submit" class="button primary wide" disabled={isBusy}>
        {isBusy ? "Logging in…" : "Log in"}
      </button>
    </form>
  );
}

type KeyFieldProps = {
  readonly keys: readonly StoredKey[];
  readonly stored: StoredKey;
  readonly onChoose: (publicKey: string) => void;
  readonly onDetails: () => void;
};

/** Chooses a key, and links to its details. */
function KeyField({ keys, stored, onChoose, onDetails }: KeyFieldProps): VNode {
  return (
    <div class="key-field">
      <SelectField
        label="Key"
        options={keys.map(({ name, publicKey }) => ({ value: publicKey, words: name }))}
        value={stored.publicKey}
        onChoose={onChoose}
      />
      <Button icon="more" label="About this key" title="Public key, export, remove" onClick={onDetails} />
    </div>
  );
}
