import { useSignal } from "@preact/signals";
import type { TargetedKeyboardEvent, VNode } from "preact";
import { useLayoutEffect, useRef } from "preact/hooks";
import { Button } from "../components/button.tsx";
import { isComposing } from "../composition.ts";
import type { Found, TextSearch } from "../terminal/emulator/text-search.ts";

type SearchBarProps = {
  readonly search: TextSearch;
  /** Each further request leads back to the field. */
  readonly requests: number;
  readonly onClose: () => void;
};

export function SearchBar({ search, requests, onClose }: SearchBarProps): VNode {
  const text = useSignal("");
  const input = useRef<HTMLInputElement>(null);
  useLayoutEffect(() => () => search.clear(), [search]);
  useLayoutEffect(() => input.current?.select(), [search, requests]);
  const onKeyDown = (event: TargetedKeyboardEvent<HTMLInputElement>): void => {
    if (isComposing(event)) return;
    if (event.key === "Escape") onClose();
    if (event.key !== "Enter") return;
    event.preventDefault();
    if (event.shiftKey) search.previous(text.value);
    else search.next(text.value, false);
  };
  return (
    <search class="search-bar">
      <input
        ref={input}
        type="text"
        aria-label="Search the terminal"
        placeholder="Search"
        autocomplete="off"
        spellcheck={false}
        onKeyDown={onKeyDown}
        onInput={(event) => {
          text.value = event.currentTarget.value;
          search.next(text.value, true);
        }}
      />
      <output class="search-count">{foundWords(text.value, search.found.value)}</output>
      <SearchButton icon="up" label="Previous (Shift+Enter)" onClick={() => search.previous(text.value)} />
      <SearchButton icon="down" label="Next (Enter)" onClick={() => search.next(text.value, false)} />
      <SearchButton icon="close" label="Close (Escape)" onClick={onClose} />
    </search>
  );
}

type SearchButtonProps = {
  readonly icon: "up" | "down" | "close";
  readonly label: string;
  readonly onClick: () => void;
};

function SearchButton({ icon, label, onClick }: SearchButtonProps): VNode {
  return <Button kind="ghost small" icon={icon} label={label} title={label} onClick={onClick} />;
}

function foundWords(text: string, found: Found | undefined): string {
  if (text === "" || found === undefined) return "";
  if (found.count === 0) return "none";
  return found.current > 0 ? `${found.current} of ${found.count}` : `${found.count}+`;
}
