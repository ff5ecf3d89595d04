import { useSignal } from "@preact/signals";
import type { VNode } from "preact";
import type { NewJoinToken } from "../../protocol/schemas/join.ts";
import type { Page } from "../app/page.ts";
import { SubmitButton } from "../components/button.tsx";
import { CopyButton } from "../components/copy-button.tsx";
import { Dialog } from "../components/dialog.tsx";
import { Failure } from "../components/failure.tsx";
import { SelectField } from "../components/select.tsx";
import { useSubmission } from "../components/submission.ts";
import { PLAIN_TEXT, TextField } from "../components/text-field.tsx";
import { joinCommand } from "./join-command.ts";
import type { MachineOverview } from "./machine-overview.ts";

type JoinDialogProps = {
  readonly page: Page;
  readonly overview: MachineOverview;
  readonly onClose: () => void;
};

/** In seconds. */
const LIFETIMES = [
  { value: "900", words: "15 minutes" },
  { value: "86400", words: "1 day" },
  { value: "2592000", words: "30 days" },
];

/** Creates a join token, and shows the command that uses it. */
export function JoinDialog({ page, overview, onClose }: JoinDialogProps): VNode {
  const made = useSignal<NewJoinToken | undefined>(undefined);
  const { isBusy, failure, onSubmit } = useSubmission("The token was not created.", async (fields) => {
    const name = String(fields.get("name") ?? "").trim();
    const expiresIn = Number(fields.get("lifetime"));
    made.value = await overview.createToken({ name, expiresIn, reusable: name.includes("*") });
  });
  return (
    <Dialog
      title="Add a machine"
      about="A join token lets a machine join this HQ under its name. With * in the name it is good for any number of machines, such as build-*."
      onClose={onClose}
    >
      {made.value === undefined ? (
        <form class="share-form" onSubmit={onSubmit}>
          <TextField
            label="Name"
            name="name"
            placeholder="build-1"
            required
            maxLength={128}
            {...PLAIN_TEXT}
          />
          <SelectField label="The token works for" name="lifetime" options={LIFETIMES} />
          <Failure words={failure} />
          <SubmitButton isBusy={isBusy} busy="Creating…">
            Create a token
          </SubmitButton>
        </form>
      ) : (
        <Line page={page} token={made.value} />
      )}
    </Dialog>
  );
}

function Line({ page, token }: { readonly page: Page; readonly token: NewJoinToken }): VNode {
  const login = page.login.state.value;
  const isOpen = login.kind === "in" && login.access.kind === "open";
  const { text, hints } = joinCommand({ origin: location.origin, isOpen: false, token });
  return (
    <div class="add-machine">
      <p>Run this line on the machine. The token is not shown again.</p>
      <div class="command">
        <pre class="mono wrapped">{text}</pre>
        <CopyButton text={text} />
      </div>
      <ul class="hints">
        {isOpen && <li>Nobody has to log in to this HQ: machines join it without a token as well.</li>}
        {hints.map((hint) => (
          <li key={hint}>{hint}</li>
        ))}
      </ul>
    </div>
  );
}
