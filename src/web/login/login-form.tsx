import type { VNode } from "preact";
import { useLayoutEffect, useRef } from "preact/hooks";
import type { AuthConfig } from "../../protocol/schemas/auth.ts";
import { Avatar } from "../account/avatar.tsx";
import { Button, SubmitButton } from "../components/button.tsx";
import { Choice } from "../components/choice.tsx";
import { Failure } from "../components/failure.tsx";
import { Icon, Logo } from "../components/icon.tsx";
import { useServerValue } from "../components/loaded.ts";
import { useSubmission } from "../components/submission.ts";
import { TextField } from "../components/text-field.tsx";
import { KeyLogin } from "./key-views/key-login.tsx";
import type { StoredKey } from "./keys/stored-key.ts";
import type { Login } from "./login.ts";
import type { LoginDraft, LoginViewProps, Step, Way, WayProps } from "./login-props.ts";
import { UserField, userOf } from "./user-field.tsx";

type LoginFormProps = LoginViewProps & {
  /** The key for the login, if there is one. */
  readonly stored: StoredKey | undefined;
  readonly draft: LoginDraft;
  readonly go: (step: Step) => void;
};

const WAYS = [
  { value: "password", words: "With a password" },
  { value: "key", words: "With a key" },
] as const;

/** The ways to log in that the server offers. */
export function LoginForm({ login, keyring, state, stored, draft, go }: LoginFormProps): VNode {
  const { config, reason } = state;
  const ways = waysOf(config);
  const wanted = draft.way.value ?? (stored === undefined ? "password" : "key");
  const way = ways.includes(wanted) ? wanted : ways[0];
  // Without it the field has another label.
  const { value: defaultUser } = useServerValue("", [login], () => login.defaultUser());
  const name = draft.user.value ?? (way === "key" ? stored?.user : undefined) ?? "";
  const onName = (typed: string): void => {
    draft.user.value = typed;
  };
  const fields = { login, user: { name, default: defaultUser, onName } };
  return (
    <>
      <LoginHead login={login} reason={reason} known={config.user} user={name === "" ? defaultUser : name} />
      {way !== undefined && ways.length > 1 && (
        <Choice
          label="How to log in"
          options={WAYS}
          value={way}
          onChoose={(chosen) => {
            draft.way.value = chosen;
          }}
        />
      )}
      {way === "password" && <PasswordLogin {...fields} />}
      {way === "key" && <KeyLogin {...fields} keyring={keyring} stored={stored} draft={draft} go={go} />}
      {way === undefined && (
        <p>
          There is no way to log in on this page. Open the server through its proxy, or by the link that{" "}
          <code>ttyhq login-link</code> prints on the server's machine.
        </p>
      )}
    </>
  );
}

function waysOf({ passwordMode, enableSSHKeys }: AuthConfig): readonly Way[] {
  return [
    ...(passwordMode === undefined ? [] : (["password"] as const)),
    ...(enableSSHKeys ? (["key"] as const) : []),
  ];
}

type LoginHeadProps = {
  readonly login: Pick<Login, "start">;
  readonly reason: string | undefined;
  /** The server's user for this browser without a login. */
  readonly known: string | undefined;
  /** The user whose picture is shown. */
  readonly user: string | undefined;
};

function LoginHead({ login, reason, known, user }: LoginHeadProps): VNode {
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
        <Button kind="primary wide" onClick={() => void login.start({})}>
          Continue as {known}
        </Button>
      )}
    </>
  );
}

function PasswordLogin({ login, user }: WayProps): VNode {
  const password = useRef<HTMLInputElement>(null);
  useLayoutEffect(() => password.current?.focus(), []);
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
      <SubmitButton isBusy={isBusy} busy="Logging in…">
        Log in
      </SubmitButton>
    </form>
  );
}
