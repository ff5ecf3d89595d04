import type { VNode } from "preact";
import { useLayoutEffect, useRef } from "preact/hooks";
import { BackButton, SubmitButton } from "../components/button.tsx";
import { Failure } from "../components/failure.tsx";
import { useSubmission } from "../components/submission.ts";
import { TextField } from "../components/text-field.tsx";
import type { Login, LoginState } from "./login.ts";

type LoginQuestionProps = {
  readonly login: Login;
  readonly state: Extract<LoginState, { readonly kind: "question" }>;
};

/** The system's questions beside the password, such as a one-time code. */
export function LoginQuestionView({ login, state }: LoginQuestionProps): VNode {
  const { prompts, messages } = state.question;
  const first = useRef<HTMLInputElement>(null);
  useLayoutEffect(() => first.current?.focus(), []);
  const { isBusy, failure, onSubmit } = useSubmission("Login failed.", async (fields) => {
    await login.withAnswers(prompts.map((_, index) => String(fields.get(`answer-${index}`))));
  });
  return (
    <main class="entrance">
      <div class="entrance-card">
        <form class="card-form" onSubmit={onSubmit}>
          <BackButton onClick={() => login.giveUp()} />
          <h1>Confirm that it is you</h1>
          {messages.map((message) => (
            <p key={message} class="muted">
              {message}
            </p>
          ))}
          {prompts.map(({ message, echo }, index) => (
            <TextField
              key={message}
              {...(index === 0 && { input: first })}
              label={message.replace(/:\s*$/, "") || "Answer"}
              name={`answer-${index}`}
              isPassword={!echo}
              autocomplete="one-time-code"
              autocapitalize="none"
              spellcheck={false}
            />
          ))}
          <Failure words={failure} />
          <SubmitButton isBusy={isBusy} busy="Logging in…">
            Log in
          </SubmitButton>
        </form>
      </div>
    </main>
  );
}
