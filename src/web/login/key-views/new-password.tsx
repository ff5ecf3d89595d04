import { useSignal } from "@preact/signals";
import type { VNode } from "preact";
import { Icon } from "../../components/icon.tsx";
import { TextField } from "../../components/text-field.tsx";

/** The fields that newPassword reads. */
const PASSWORD = "new-password";
const AGAIN = "new-password-again";

/** An optional password for a key, with a note on keys without one. `failure`: of the second field. */
export function NewPassword({ failure }: { readonly failure: string | undefined }): VNode {
  const password = useSignal("");
  return (
    <>
      <TextField
        label="Password for the key (optional)"
        isPassword
        name={PASSWORD}
        autocomplete="new-password"
        onInput={(event) => {
          password.value = event.currentTarget.value;
        }}
      />
      {password.value === "" ? (
        <p class="caution">
          <Icon name="warning" />
          <span>
            Without a password the key lies readable in this browser: whoever uses this browser, or gets at
            its files, can log in with it.
          </span>
        </p>
      ) : (
        <TextField
          label="Repeat the password"
          isPassword
          name={AGAIN}
          autocomplete="new-password"
          failure={failure}
        />
      )}
    </>
  );
}

/** The password from NewPassword; undefined if the two fields differ. */
export function newPassword(fields: FormData): string | undefined {
  const password = String(fields.get(PASSWORD) ?? "");
  const again = String(fields.get(AGAIN) ?? "");
  return password === again ? password : undefined;
}
