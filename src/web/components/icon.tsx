import type { VNode } from "preact";

const PATHS = {
  plus: "M12 5v14M5 12h14",
  close: "m6 6 12 12M18 6 6 18",
  search: "M11 18a7 7 0 1 0 0-14 7 7 0 0 0 0 14Zm5-2 4 4",
  up: "m6 15 6-6 6 6",
  down: "m6 9 6 6 6-6",
  back: "m15 5-7 7 7 7",
  more: "M5.5 12a.5.5 0 1 1-1 0 .5.5 0 0 1 1 0ZM12.5 12a.5.5 0 1 1-1 0 .5.5 0 0 1 1 0ZM19.5 12a.5.5 0 1 1-1 0 .5.5 0 0 1 1 0Z",
  trash: "M4 7h16M10 11v6M14 11v6M6 7l1 13h10l1-13M9 7V4h6v3",
  stop: "M7 7h10v10H7z",
  download: "M12 4v11m0 0 4.5-4.5M12 15l-4.5-4.5M5 20h14",
  upload: "M12 15V4m0 0L7.5 8.5M12 4l4.5 4.5M5 20h14",
  pencil: "m4 20 1-4L16 5l3 3L8 19l-4 1Zm10-13 3 3",
  fit: "M9 4H4v5M15 4h5v5M9 20H4v-5M15 20h5v-5",
  again: "M19 12a7 7 0 1 1-2-5m2-3v4h-4",
  exit: "M10 5H5v14h5M15 8l4 4-4 4M19 12H9",
  bell: "M6 16v-5a6 6 0 0 1 12 0v5l1.5 2h-15L6 16Zm4.5 5h3",
  plug: "m4 20 4-4m8-8 4-4M9 9l6 6-2 2a4.2 4.2 0 0 1-6-6l2-2Zm2-2 2-2a4.2 4.2 0 0 1 6 6l-2 2",
  branch:
    "M7 4v11m0 5a2.5 2.5 0 1 0 0-5 2.5 2.5 0 0 0 0 5ZM17 9a2.5 2.5 0 1 0 0-5 2.5 2.5 0 0 0 0 5Zm0 0c0 5-3 8-7.5 8.5",
  folder: "M4 18V6h5l2 2h9v10H4Z",
  machine: "M4 5h16v6H4zM4 13h16v6H4zM7.5 8h.01M7.5 16h.01",
  copy: "M9 9h11v11H9zM5 15H4V4h11v1",
  play: "M8 5v14l11-7L8 5Z",
  pause: "M8 5v14m8-14v14",
  settings:
    "M4 7h9m5 0h2M4 17h2m5 0h9M15.5 9.5a2.5 2.5 0 1 0 0-5 2.5 2.5 0 0 0 0 5Zm-7 10a2.5 2.5 0 1 0 0-5 2.5 2.5 0 0 0 0 5Z",
  check: "m5 12.5 4.5 4.5L19 7.5",
  warning: "M12 4 3 19.5h18L12 4Zm0 6v4m0 2.8v.2",
  key: "M8 20a4 4 0 1 0 0-8 4 4 0 0 0 0 8Zm2.8-6.8L20 4m-4 4 3 3",
  lock: "M6 11h12v9H6zM9 11V8a3 3 0 0 1 6 0v3",
  share:
    "m8.5 10.8 7-4m-7 6.4 7 4M6 14.5a2.5 2.5 0 1 0 0-5 2.5 2.5 0 0 0 0 5ZM18 8a2.5 2.5 0 1 0 0-5 2.5 2.5 0 0 0 0 5Zm0 13a2.5 2.5 0 1 0 0-5 2.5 2.5 0 0 0 0 5Z",
  list: "M8 6h12M8 12h12M8 18h12M4 6h.01M4 12h.01M4 18h.01",
  grid: "M4 5h7v6H4zM13 5h7v6h-7zM4 13h7v6H4zM13 13h7v6h-7z",
  splitRight: "M4 5h16v14H4zM12 5v14",
  splitDown: "M4 5h16v14H4zM4 12h16",
  tab: "M3 19V6h8l2 3h8v10Z",
  people:
    "M9 11a3.5 3.5 0 1 0 0-7 3.5 3.5 0 0 0 0 7Zm-6 8a6 6 0 0 1 12 0m.5-8a3 3 0 0 0 0-6m2.5 8.5a6 6 0 0 1 3 5.5",
  history: "M4 12a8 8 0 1 0 2.5-5.8L4 8.5M4 4v4.5h4.5M12 8v4.5l3 2",
  paste: "M9 5H6v15h12V5h-3M9 3.5h6v3H9z",
} as const;

export type IconName = keyof typeof PATHS;

/** Drawn in the colour of the text, 1.25 em high; the text or label beside it gives its meaning. */
export function Icon({ name }: { readonly name: IconName }): VNode {
  return (
    <svg class="icon" viewBox="0 0 24 24" aria-hidden="true" focusable="false">
      <path d={PATHS[name]} />
    </svg>
  );
}

export function Logo(): VNode {
  return (
    <svg class="logo" viewBox="0 0 32 32" role="img" aria-label="ttyhq">
      <title>ttyhq</title>
      <rect class="logo-plate" width="32" height="32" rx="7.5" />
      <path class="logo-prompt" d="m8 10 6 6-6 6" />
      <path class="logo-cursor" d="M17 22.5h7" />
    </svg>
  );
}
