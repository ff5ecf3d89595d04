import type { VNode } from "preact";
import type { SessionProps } from "../../app/view-props.ts";
import { Button } from "../../components/button.tsx";
import { type GuestName, MAX_GUEST_NAME } from "./guest-name.ts";

/** Asks a guest once, beside the terminal. */
export function GuestNameQuestion({
  workspace,
  open,
}: Pick<SessionProps, "workspace" | "open">): VNode | undefined {
  const { guestName } = workspace;
  if (guestName === undefined || guestName.answer.value !== undefined) return undefined;
  return (
    <section class="clipboard-question" aria-label="Guest">
      <p>Other viewers see you as a guest. Which name should they see?</p>
      <GuestNameForm guestName={guestName} other="No name" onChosen={() => open.emulator.focus()} />
    </section>
  );
}

type GuestNameFormProps = {
  readonly guestName: GuestName;
  /** A second button, which leaves the name out. */
  readonly other?: string;
  readonly onChosen?: () => void;
};

export function GuestNameForm({ guestName, other, onChosen }: GuestNameFormProps): VNode {
  const choose = (name: string): void => {
    guestName.choose(name);
    onChosen?.();
  };
  return (
    <form
      class="guest-name"
      onSubmit={(event) => {
        event.preventDefault();
        choose(String(new FormData(event.currentTarget).get("name") ?? ""));
      }}
    >
      <label class="field guest-name-field">
        <span>Your name</span>
        <input
          name="name"
          maxLength={MAX_GUEST_NAME}
          autocomplete="nickname"
          defaultValue={guestName.text ?? ""}
        />
      </label>
      <button type="submit" class="button small primary">
        Save
      </button>
      {other !== undefined && (
        <Button kind="small" onClick={() => choose("")}>
          {other}
        </Button>
      )}
    </form>
  );
}
