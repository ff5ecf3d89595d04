import { useSignal } from "@preact/signals";
import type { VNode } from "preact";
import { Button } from "./button.tsx";

type CopyButtonProps = { readonly text: string; readonly label?: string };

const COPIED = { icon: "check", label: "Copied" } as const;
const REFUSED = { icon: "warning", label: "The browser refused to copy" } as const;

/** Only where the browser lets a page write to the clipboard: over HTTPS, or on localhost. */
export function CopyButton({ text, label = "Copy" }: CopyButtonProps): VNode | undefined {
  const outcome = useSignal<{ readonly text: string; readonly isCopied: boolean } | undefined>(undefined);
  if (!("clipboard" in navigator)) return undefined;
  const isCopied = outcome.value?.text === text ? outcome.value.isCopied : undefined;
  const copy = (): void => {
    const told = (isCopied: boolean) => () => {
      outcome.value = { text, isCopied };
    };
    navigator.clipboard.writeText(text).then(told(true), told(false));
  };
  const shown = isCopied === undefined ? ({ icon: "copy", label } as const) : isCopied ? COPIED : REFUSED;
  return <Button kind="ghost small" {...shown} title={shown.label} onClick={copy} />;
}
