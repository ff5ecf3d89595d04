import type { VNode } from "preact";
import { Button } from "../components/button.tsx";
import { Icon } from "../components/icon.tsx";
import type { ClipboardRequests } from "../terminal/clipboard-requests.ts";

const PREVIEW_CHARACTERS = 60;

/** Asks once per session whether its programs may write to the clipboard. */
export function ClipboardQuestion({ requests }: { readonly requests: ClipboardRequests }): VNode | undefined {
  const text = requests.waiting.value;
  if (text === undefined) return undefined;
  const [line = ""] = text.trim().split("\n", 1);
  const isCut = text.trim().length > PREVIEW_CHARACTERS || line !== text.trim();
  return (
    <section class="clipboard-question" role="status" aria-label="Clipboard">
      <p>
        <Icon name="copy" />A program in this session wants to copy {text.length}{" "}
        {text.length === 1 ? "character" : "characters"} to your clipboard:
      </p>
      <code>
        {line.slice(0, PREVIEW_CHARACTERS)}
        {isCut && "…"}
      </code>
      <p class="clipboard-answers">
        <Button look="small" onClick={() => requests.answer(false)}>
          Never here
        </Button>
        <Button look="small primary" onClick={() => requests.answer(true)}>
          Allow in this session
        </Button>
      </p>
    </section>
  );
}
