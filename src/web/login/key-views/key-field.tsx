import type { VNode } from "preact";
import { Button } from "../../components/button.tsx";
import { SelectField } from "../../components/select.tsx";
import type { StoredKey } from "../keys/stored-key.ts";

type KeyFieldProps = {
  readonly keys: readonly StoredKey[];
  readonly stored: StoredKey;
  readonly onChoose: (publicKey: string) => void;
  readonly onDetails: () => void;
};

/** Chooses a key, and links to its details. */
export function KeyField({ keys, stored, onChoose, onDetails }: KeyFieldProps): VNode {
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
