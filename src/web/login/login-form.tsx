import type { VNode } from "preact";
import type { AuthConfig } from "../../protocol/schemas/auth.ts";
import { Choice } from "../components/choice.tsx";
import { useDefaultUser } from "./default-user.ts";
import { KeyLogin } from "./key-views/key-login.tsx";
import type { StoredKey } from "./keys/stored-key.ts";
import type { LoginDraft, Way } from "./login-draft.ts";
import { LoginHead } from "./login-head.tsx";
import type { LoginViewProps, Step } from "./login-props.ts";
import { PasswordLogin } from "./password-login.tsx";

type LoginFormProps = LoginViewProps & {
  /** The key to log in with; undefined where there is none. */
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
  const defaultUser = useDefaultUser(login);
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
