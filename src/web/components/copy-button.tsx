import { useSignal } from "@preact/signals";
import type { VNode } from "preact";
import { Button } from "./button.tsx";

type CopyButtonProps = { readonly text: string; readonly label?: string };

/** Only where the browser lets a page write to the clipboard: over HTTPS, or on localhost. */
export function CopyButton({ text, label = "Copy" }: CopyButtonProps): VNode | undefined {
  const copied = useSignal<string | undefined>(undefined);
  if (!("clipboard" in navigator)) return undefined;
  const isDone = copied.value === text;
  const copy = async (): Promise<void> => {
    await navigator.clipboard.writeText(text);
    copied.value = text;
  };
  return (
    <Button
      kind="ghost small"
      icon={isDone ? "check" : "copy"}
      label={isDone ? "Copied" : label}
      title={label}
      onClick={() => void copy().catch(() => undefined)}
    />
  );
}
