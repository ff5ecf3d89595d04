import type { VNode } from "preact";
import { useEffect, useRef } from "preact/hooks";
import { Failure } from "../components/failure.tsx";
import { useSubmission } from "../components/submission.ts";
import { TextField } from "../components/text-field.tsx";
import type { WayProps } from "./login-props.ts";
import { UserField, userOf } from "./user-field.tsx";

export function PasswordLogin({ login, user }: WayProps): VNode {
  const password = useRef<HTMLInputElement>(null);
  useEffect(() => password.current?.focus(), []);
  const { isBusy, failure, onSubmit } = useSubmission("Login failed.", async (fields) => {
    try {
      await login.withPassword(userOf(fields), String(fields.get("password")));
    } catch (error) {
      password.current?.select();
      throw error;
    }
  });
  return (
    <form class="card-form" onSubmit={onSubmit}>
      <UserField user={user} />
      <TextField
        input={password}
        label="Password"
        name="password"
        isPassword
        autocomplete="current-password"
        required
      />
      <Failure words={failure} />
      <button type="submit" class="button primary wide" disabled={isBusy}>
        {isBusy ? "Logging in…" : "Log in"}
      </button>
    </form>
  );
}
