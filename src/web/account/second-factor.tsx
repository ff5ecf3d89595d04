import type { VNode } from "preact";
import { useLayoutEffect, useRef } from "preact/hooks";
import { BackButton, Button, SubmitButton } from "../components/button.tsx";
import { Failure } from "../components/failure.tsx";
import { Icon } from "../components/icon.tsx";
import { useSubmission } from "../components/submission.ts";
import { TextField } from "../components/text-field.tsx";
import type { Login, LoginState } from "../login/login.ts";
import { makePasskey, usePasskey } from "../login/passkeys.ts";
import { RecoveryCodes } from "./recovery-codes.tsx";

type State = Extract<LoginState, { readonly kind: "second-factor" }>;
type SecondFactorProps = { readonly login: Login; readonly state: State };

/** The question after a correct password. */
export function SecondFactorView({ login, state }: SecondFactorProps): VNode {
  const { codes, challenge } = state;
  const hasPasskey = challenge.assertion !== undefined || challenge.recoveryCodes > 0;
  return (
    <main class="entrance">
      <div class="entrance-card">
        {codes === undefined ? (
          <div class="card-form">
            <BackButton onClick={() => login.giveUp()} />
            {hasPasskey || challenge.registration === undefined ? (
              <Confirmation login={login} state={state} />
            ) : (
              <FirstPasskey login={login} registration={challenge.registration} />
            )}
          </div>
        ) : (
          <div class="card-form">
            <h1>Keep your recovery codes</h1>
            <RecoveryCodes codes={codes} />
            <Button kind="primary wide" onClick={() => login.goIn()}>
              I have kept them
            </Button>
          </div>
        )}
      </div>
    </main>
  );
}

function Confirmation({ login, state }: SecondFactorProps): VNode {
  const { assertion, registration, recoveryCodes } = state.challenge;
  return (
    <>
      <h1>Confirm that it is you</h1>
      {assertion === undefined ? (
        <p class="muted">{state.words}</p>
      ) : (
        <PasskeyForm login={login} assertion={assertion} />
      )}
      {recoveryCodes > 0 && (
        <details class="more" open={assertion === undefined}>
          <summary>Use a recovery code</summary>
          <CodeForm login={login} />
        </details>
      )}
      {registration !== undefined && (
        <details class="more">
          <summary>Use an enrolment code</summary>
          <EnrolmentCodeForm login={login} registration={registration} />
        </details>
      )}
    </>
  );
}

type PasskeyFormProps = { readonly login: Login; readonly assertion: Readonly<Record<string, unknown>> };

function PasskeyForm({ login, assertion }: PasskeyFormProps): VNode {
  const button = useRef<HTMLButtonElement>(null);
  useLayoutEffect(() => button.current?.focus(), []);
  const { isBusy, failure, onSubmit } = useSubmission("The passkey was not used.", async () => {
    await login.withSecondFactor({ assertion: await usePasskey(assertion) });
  });
  return (
    <form class="card-form" onSubmit={onSubmit}>
      <p class="muted">The password is right. This account asks for a passkey as well.</p>
      <Failure words={failure} />
      <button ref={button} type="submit" class="button primary wide" disabled={isBusy}>
        <Icon name="key" />
        {isBusy ? "Waiting for the passkey…" : "Use a passkey"}
      </button>
    </form>
  );
}

function CodeForm({ login }: Pick<SecondFactorProps, "login">): VNode {
  const { isBusy, failure, onSubmit } = useSubmission("Login failed.", async (fields) => {
    await login.withSecondFactor({ recoveryCode: String(fields.get("code")) });
  });
  return (
    <form class="export-form" onSubmit={onSubmit}>
      <TextField
        label="Recovery code"
        name="code"
        autocomplete="one-time-code"
        autocapitalize="characters"
        spellcheck={false}
        maxLength={64}
        failure={failure}
        required
      />
      <SubmitButton kind="" isBusy={isBusy} busy="Logging in…">
        Log in
      </SubmitButton>
    </form>
  );
}

type FirstPasskeyProps = { readonly login: Login; readonly registration: Readonly<Record<string, unknown>> };

function FirstPasskey(props: FirstPasskeyProps): VNode {
  return (
    <>
      <h1>Create a passkey</h1>
      <p>
        This server asks for a second factor. Ask an administrator for an enrolment code. The passkey is kept
        by this device, by a security key or by a password manager; from now on you log in with your password
        and with it.
      </p>
      <EnrolmentCodeForm {...props} />
    </>
  );
}

function EnrolmentCodeForm({ login, registration }: FirstPasskeyProps): VNode {
  const { isBusy, failure, onSubmit } = useSubmission("The passkey was not created.", async (fields) => {
    const enrolmentCode = String(fields.get("enrolment-code")).trim();
    await login.withSecondFactor({ enrolmentCode, registration: await makePasskey(registration) });
  });
  return (
    <form class="card-form" onSubmit={onSubmit}>
      <TextField
        label="Enrolment code"
        name="enrolment-code"
        autocomplete="one-time-code"
        spellcheck={false}
        maxLength={128}
        failure={failure}
        required
      />
      <SubmitButton icon="key" isBusy={isBusy} busy="Creating…">
        Create a passkey
      </SubmitButton>
    </form>
  );
}
