import { useSignal } from "@preact/signals";
import type { VNode } from "preact";
import { ImportKey } from "./key-views/import-key.tsx";
import { KeySheet } from "./key-views/key-sheet.tsx";
import { MakeKey } from "./key-views/make-key.tsx";
import type { StoredKey } from "./keys/stored-key.ts";
import { LoginForm } from "./login-form.tsx";
import type { LoginDraft, LoginViewProps, Step, Way } from "./login-props.ts";

export function LoginView({ login, keyring, state }: LoginViewProps): VNode {
  const step = useSignal<Step>("login");
  const draft: LoginDraft = {
    way: useSignal<Way | undefined>(undefined),
    key: useSignal<string | undefined>(undefined),
    user: useSignal<string | undefined>(undefined),
  };
  const go = (next: Step): void => {
    step.value = next;
  };
  const back = (): void => go("login");
  const added = ({ publicKey }: StoredKey): void => {
    draft.key.value = publicKey;
    go("sheet");
  };
  const keys = keyring.keys.value;
  const chosen = keys.find(({ publicKey }) => publicKey === draft.key.value);
  // Another tab may remove a key while it is shown here.
  const shown = step.value === "sheet" && chosen === undefined ? "login" : step.value;
  return (
    <main class="entrance">
      <div class="entrance-card">
        {shown === "make" && <MakeKey keyring={keyring} onDone={added} onBack={back} />}
        {shown === "import" && <ImportKey keyring={keyring} onDone={added} onBack={back} />}
        {shown === "sheet" && chosen !== undefined && (
          <KeySheet keyring={keyring} stored={chosen} onBack={back} />
        )}
        {shown === "login" && (
          <LoginForm
            login={login}
            keyring={keyring}
            state={state}
            stored={chosen ?? keys.at(-1)}
            draft={draft}
            go={go}
          />
        )}
      </div>
    </main>
  );
}
