import type { VNode } from "preact";
import { Icon } from "../../components/icon.tsx";
import type { StoredKey } from "../keys/stored-key.ts";

type KeyFieldProps = {
  readonly keys: readonly StoredKey[];
  readonly stored: StoredKey;
  readonly onChoose: (key: StoredKey) => void;
  readonly onDetails: () => void;
};

/** Chooses a key, and links to its details. */
export function KeyField({ keys, stored, onChoose, onDetails }: KeyFieldProps): VNode {
  return (
    <div class="key-field">
      <label class="field">
        <span>Key</span>
        <select
          value={stored.publicKey}
          onChange={({ currentTarget }) => {
            const key = keys.find(({ publicKey }) => publicKey === currentTarget.value);
            if (key !== undefined) onChoose(key);
          }}
        >
          {keys.map(({ name, publicKey }) => (
            <option key={publicKey} value={publicKey}>
              {name}
            </option>
          ))}
        </select>
      </label>
      <button
        type="button"
        class="button"
        aria-label="About this key"
        title="Public key, export, remove"
        onClick={onDetails}
      >
        <Icon name="more" />
      </button>
    </div>
  );
}
