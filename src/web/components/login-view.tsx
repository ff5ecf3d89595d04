import { useSignal } from "@preact/signals";
import type { TargetedEvent, VNode } from "preact";
import { useEffect, useRef } from "preact/hooks";
import type { Login } from "../login.ts";
import { Icon, Logo } from "./icon.tsx";

type LoginViewProps = {
  readonly login: Pick<Login, "withPassword">;
  readonly reason: string | undefined;
  readonly user: string | undefined;
};

export function LoginView({ login, reason, user }: LoginViewProps): VNode {
  const failure = useSignal<string | undefined>(undefined);
  const isBusy = useSignal(false);
  const password = useRef<HTMLInputElement>(null);
  useEffect(() => password.current?.focus(), []);
  const submit = async (event: TargetedEvent<HTMLFormElement>): Promise<void> => {
    event.preventDefault();
    const fields = new FormData(event.currentTarget);
    isBusy.value = true;
    failure.value = undefined;
    try {
      await login.withPassword(String(fields.get("username")).trim(), String(fields.get("password")));
    } catch (error) {
      failure.value = error instanceof Error ? sentence(error.message) : "The log in failed.";
      password.current?.select();
    }
    isBusy.value = false;
  };
  return (
    <main class="entrance">
      <form class="entrance-card" onSubmit={(event) => void submit(event)}>
        <Logo />
        <h1>Log in to ttyhq</h1>
        <p class="muted">{reason ?? "Terminals on this machine, in your browser."}</p>
        <label class="field">
          <span>User</span>
          <input
            name="username"
            autocomplete="username"
            autocapitalize="none"
            spellcheck={false}
            placeholder={user ?? "the server's own user"}
          />
        </label>
        <label class="field">
          <span>Password</span>
          <input ref={password} name="password" type="password" autocomplete="current-password" required />
        </label>
        <p class="failure" role="alert">
          {failure.value !== undefined && <Icon name="warning" />}
          {failure}
        </p>
        <button type="submit" class="button primary wide" disabled={isBusy.value}>
          {isBusy.value ? "Logging in…" : "Log in"}
        </button>
      </form>
    </main>
  );
}

/** A message of the server as a sentence of the page. */
function sentence(message: string): string {
  const text = message.charAt(0).toUpperCase() + message.slice(1);
  return /[.!?]$/.test(text) ? text : `${text}.`;
}
