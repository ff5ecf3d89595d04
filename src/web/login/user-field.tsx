import type { VNode } from "preact";
import { TextField } from "../components/text-field.tsx";
import type { WayProps } from "./login-props.ts";

/** `value` changes with each letter, the picture of the user when the field loses the focus. */
export function UserField({ user }: Pick<WayProps, "user">): VNode {
  return (
    <TextField
      label="User"
      name="username"
      autocomplete="username"
      autocapitalize="none"
      spellcheck={false}
      placeholder={user.default ?? "the server's own user"}
      defaultValue={user.name}
      onChange={(event) => user.onName(event.currentTarget.value.trim())}
    />
  );
}

export function userOf(fields: FormData): string {
  return String(fields.get("username") ?? "").trim();
}
