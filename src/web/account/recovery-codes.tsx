import type { VNode } from "preact";
import { CopyButton } from "../components/copy-button.tsx";

/** Shown once: the server stores only their hashes. */
export function RecoveryCodes({ codes }: { readonly codes: readonly string[] }): VNode {
  const text = codes.join("\n");
  return (
    <div class="recovery-codes" role="status">
      <p>
        Without your passkey each of these logs you in once, after your password. Keep them where you keep
        passwords: they are not shown again.
      </p>
      <div class="command">
        <pre class="mono">{text}</pre>
        <CopyButton text={text} label="Copy the recovery codes" />
      </div>
    </div>
  );
}
