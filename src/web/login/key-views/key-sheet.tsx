import type { VNode } from "preact";
import { useLayoutEffect, useRef } from "preact/hooks";
import { BackButton } from "../../components/button.tsx";
import { ConfirmButton } from "../../components/confirm.tsx";
import { CopyButton } from "../../components/copy-button.tsx";
import { Failure } from "../../components/failure.tsx";
import { Icon } from "../../components/icon.tsx";
import { useSubmission } from "../../components/submission.ts";
import { TextField } from "../../components/text-field.tsx";
import { saveFile } from "../../save-file.ts";
import { type Keyring, lineOf } from "../keys/keyring.ts";
import type { StoredKey } from "../keys/stored-key.ts";

type KeySheetProps = { readonly keyring: Keyring; readonly stored: StoredKey; readonly onBack: () => void };

/** The details of a key and its actions. */
export function KeySheet({ keyring, stored, onBack }: KeySheetProps): VNode {
  const heading = useRef<HTMLHeadingElement>(null);
  useLayoutEffect(() => heading.current?.focus(), []);
  const line = lineOf(stored);
  return (
    <div class="card-form">
      <BackButton onClick={onBack} />
      <h1 ref={heading} tabIndex={-1}>
        {stored.name}
      </h1>
      <Protection stored={stored} />
      <p>
        To log in with this key, add its public key as a line to <code>~/.ssh/authorized_keys</code> of the
        user to log in as:
      </p>
      <div class="command">
        <pre class="mono wrapped">{line}</pre>
        <CopyButton text={line} label="Copy the public key" />
      </div>
      <details class="more">
        <summary>Export the private key</summary>
        <ExportForm keyring={keyring} stored={stored} />
      </details>
      <ConfirmButton
        kind="danger-quiet"
        icon="trash"
        question={`Remove “${stored.name}”?`}
        detail="Without an exported copy it is lost. Its line stays in authorized_keys."
        yes="Remove"
        onYes={() => {
          keyring.remove(stored);
          onBack();
        }}
      >
        Remove from this browser
      </ConfirmButton>
    </div>
  );
}

function Protection({ stored }: Pick<KeySheetProps, "stored">): VNode {
  if (stored.secret.kind === "locked") {
    return (
      <p class="muted with-icon">
        <Icon name="lock" />
        This browser stores it encrypted with a password.
      </p>
    );
  }
  return (
    <p class="caution">
      <Icon name="warning" />
      <span>It has no password: it lies readable in this browser.</span>
    </p>
  );
}

function ExportForm({ keyring, stored }: Omit<KeySheetProps, "onBack">): VNode {
  const password = useRef<HTMLInputElement>(null);
  const isLocked = stored.secret.kind === "locked";
  const { isBusy, failure, onSubmit } = useSubmission("The key was not exported.", async () => {
    try {
      const pem = await keyring.exportPem(stored, password.current?.value ?? "");
      saveFile(new Blob([pem], { type: "application/x-pem-file" }), `${stored.name}.pem`);
    } catch (error) {
      password.current?.select();
      throw error;
    }
  });
  return (
    <form class="export-form" onSubmit={onSubmit}>
      <p class="muted">
        A PEM file (PKCS#8) without a password: whoever gets it can log in. OpenSSH 9.6 and later, and
        openssl, read it.
      </p>
      {isLocked ? (
        <TextField
          input={password}
          label="Password of the key"
          isPassword
          autocomplete="off"
          failure={failure}
          required
        />
      ) : (
        <Failure words={failure} />
      )}
      <button type="submit" class="button" disabled={isBusy}>
        <Icon name="download" />
        Save the file
      </button>
    </form>
  );
}
