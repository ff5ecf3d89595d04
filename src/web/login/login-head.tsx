import type { VNode } from "preact";
import { Avatar } from "../account/avatar.tsx";
import { Icon, Logo } from "../components/icon.tsx";
import type { Login } from "./login.ts";

type LoginHeadProps = {
  readonly login: Pick<Login, "start">;
  readonly reason: string | undefined;
  /** Who the server takes this browser for without any login. */
  readonly known: string | undefined;
  /** Whose picture is shown. */
  readonly user: string | undefined;
};

export function LoginHead({ login, reason, known, user }: LoginHeadProps): VNode {
  return (
    <>
      <div class="entrance-head">
        <Logo />
        {user !== undefined && <Avatar user={user} />}
      </div>
      <h1>Log in to ttyhq</h1>
      <p class="muted">{reason ?? "Terminals on this machine, in your browser."}</p>
      {!window.isSecureContext && (
        <p class="failure">
          <Icon name="warning" />
          <span>This connection is not encrypted. Others on the network can read your password.</span>
        </p>
      )}
      {known !== undefined && (
        <button type="button" class="button primary wide" onClick={() => void login.start({})}>
          Continue as {known}
        </button>
      )}
    </>
  );
}
