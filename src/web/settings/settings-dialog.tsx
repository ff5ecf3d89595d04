import { useSignal } from "@preact/signals";
import type { ComponentChildren, VNode } from "preact";
import type { Page } from "../app/page.ts";
import { Choice } from "../components/choice.tsx";
import { Dialog } from "../components/dialog.tsx";
import { type Option, SelectField } from "../components/select.tsx";
import { allowNotifications, NO_NOTIFICATIONS } from "../notifications/browser-notifications.ts";
import {
  type Choices,
  FontName,
  MAX_FONT_SIZE_PX,
  MIN_FONT_SIZE_PX,
  type NotificationKind,
} from "../preferences.ts";
import { fontFamily } from "../terminal/emulator/fonts.ts";
import {
  ansiColors,
  PALETTE_NAMES,
  PALETTES,
  paletteOf,
  type ThemeChoice,
} from "../terminal/emulator/palette.ts";

type PageProps = { readonly page: Page };

export function SettingsDialog({ page, onClose }: PageProps & { readonly onClose: () => void }): VNode {
  const current = page.preferences.current.value;
  return (
    <Dialog title="Settings" about="Kept in this browser. They apply at once." onClose={onClose}>
      <div class="settings">
        <h3>Appearance</h3>
        <Theme page={page} />
        <Font page={page} />
        <FontSize page={page} />
        <Switch page={page} name="hasIconFont" note="Powerline and file icons of prompts; loads 1 MB">
          Icons of Nerd Fonts
        </Switch>
        <Preview page={page} />
        <h3>Behaviour</h3>
        <ChoiceField
          label="Bell"
          options={BELLS}
          value={current.bell}
          onChoose={(bell) => page.preferences.change({ bell })}
        />
        <Notifications page={page} />
        <Switch
          page={page}
          name="hasFollowNotices"
          note="A message on the page when it switched, failed or stopped in the repository that you look at"
        >
          Follow mode
        </Switch>
        <Switch page={page} name="copyOnSelect">
          Copy selected text
        </Switch>
        <ChoiceField
          label="Programs may write to the clipboard"
          options={POLICIES}
          value={current.clipboard}
          // A new choice deletes the answers given in sessions.
          onChoose={(clipboard) => page.preferences.change({ clipboard, clipboardAnswers: [] })}
        />
        <Switch page={page} name="hasImages" note="Sixel and iTerm2 images that programs draw">
          Images
        </Switch>
        <Switch page={page} name="screenReader">
          Screen reader
        </Switch>
      </div>
    </Dialog>
  );
}

const THEMES: readonly Option<ThemeChoice>[] = [
  { value: "system", words: "Follow the system" },
  ...PALETTE_NAMES.map((value) => ({ value, words: PALETTES[value].words })),
];

function Theme({ page }: PageProps): VNode {
  return (
    <SelectField
      label="Theme"
      options={THEMES}
      value={page.preferences.current.value.theme}
      onChoose={(theme) => page.preferences.change({ theme })}
    />
  );
}

/** Suggestions for the name of an installed font. */
const FONTS = [
  ...["Cascadia Code", "Consolas", "DejaVu Sans Mono", "Fira Code", "Hack", "IBM Plex Mono"],
  ...["Iosevka", "JetBrains Mono", "Menlo", "Source Code Pro", "Ubuntu Mono"],
];

function Font({ page }: PageProps): VNode {
  return (
    <label class="field">
      <span>Font</span>
      <input
        value={page.preferences.current.value.font}
        list="terminal-fonts"
        placeholder="default, or any installed font"
        pattern="[\p{L}\p{N} ._+\-]*"
        maxLength={60}
        autocomplete="off"
        spellcheck={false}
        onChange={({ currentTarget }) => {
          const font = FontName.safeParse(currentTarget.value.trim());
          if (font.success) page.preferences.change({ font: font.data });
        }}
      />
      <datalist id="terminal-fonts">
        {FONTS.map((name) => (
          <option key={name} value={name} />
        ))}
      </datalist>
    </label>
  );
}

function FontSize({ page }: PageProps): VNode {
  const size = page.preferences.current.value.fontSizePx;
  const change = (by: number) => () => page.preferences.change({ fontSizePx: size + by });
  return (
    <div class="menu-line">
      <span>Font size</span>
      <span class="stepper">
        <button
          type="button"
          class="button small"
          aria-label="Smaller text"
          data-sign="A−"
          disabled={size <= MIN_FONT_SIZE_PX}
          onClick={change(-1)}
        />
        <output>{size}</output>
        <button
          type="button"
          class="button small"
          aria-label="Larger text"
          data-sign="A+"
          disabled={size >= MAX_FONT_SIZE_PX}
          onClick={change(1)}
        />
      </span>
    </div>
  );
}

type SwitchProps = PageProps & {
  readonly name: "hasIconFont" | "hasFollowNotices" | "copyOnSelect" | "hasImages" | "screenReader";
  readonly note?: string;
  readonly children: ComponentChildren;
};

function Switch({ page, name, note, children }: SwitchProps): VNode {
  return (
    <label class="menu-line">
      <span>
        {children}
        {note !== undefined && <small class="muted">{note}</small>}
      </span>
      <input
        type="checkbox"
        checked={page.preferences.current.value[name]}
        onChange={({ currentTarget }) => {
          const part: Partial<Choices> = { [name]: currentTarget.checked };
          page.preferences.change(part);
        }}
      />
    </label>
  );
}

const BELLS: readonly Option<Choices["bell"]>[] = [
  { value: "off", words: "Off" },
  { value: "flash", words: "Flash" },
  { value: "sound", words: "Flash and sound" },
];

const POLICIES: readonly Option<Choices["clipboard"]>[] = [
  { value: "ask", words: "Ask" },
  { value: "allow", words: "Allow" },
  { value: "deny", words: "Never" },
];

/** A choice with a visible label. */
function ChoiceField<T extends string>(props: Parameters<typeof Choice<T>>[0]): VNode {
  return (
    <div class="field">
      <span aria-hidden="true">{props.label}</span>
      <Choice {...props} />
    </div>
  );
}

const NOTIFICATIONS = [
  { kind: "exit", words: "Its program ended" },
  { kind: "input", words: "It waits for input, or its program notifies you" },
  { kind: "bell", words: "The bell rang" },
  { kind: "git", words: "Follow mode switched a branch, or failed" },
] as const satisfies readonly { readonly kind: NotificationKind; readonly words: string }[];

/** Enabling the first kind asks the browser for permission. */
function Notifications({ page }: PageProps): VNode {
  const problem = useSignal<string | undefined>(undefined);
  const { notifications } = page.preferences.current.value;
  const change = async (kind: NotificationKind, box: HTMLInputElement): Promise<void> => {
    const others = page.preferences.current.peek().notifications.filter((one) => one !== kind);
    const answer = box.checked ? await allowNotifications() : "granted";
    problem.value = answer === "granted" ? undefined : NO_NOTIFICATIONS[answer];
    const isOn = box.checked && answer === "granted";
    page.preferences.change({ notifications: isOn ? [...others, kind] : others });
    box.checked = isOn;
  };
  return (
    <fieldset class="notification-kinds">
      <legend>
        Notify me of a session that is not in view
        <small class="muted">By the browser, while this page is open in a tab or as an app</small>
      </legend>
      {NOTIFICATIONS.map(({ kind, words }) => (
        <label key={kind} class="menu-line">
          <span>{words}</span>
          <input
            type="checkbox"
            checked={notifications.includes(kind)}
            onChange={({ currentTarget }) => void change(kind, currentTarget)}
          />
        </label>
      ))}
      <p class="failure" role="alert">
        {problem}
      </p>
    </fieldset>
  );
}

/** A sample of theme and font; colours in the order of the palette. */
function Preview({ page }: PageProps): VNode {
  const { theme, font, fontSizePx, hasIconFont } = page.preferences.current.value;
  const palette = paletteOf(theme, page.scheme.value);
  const style = {
    ...{ background: palette.background, color: palette.foreground },
    font: `${fontSizePx}px ${fontFamily(font, hasIconFont)}`,
  };
  return (
    <div class="theme-preview" style={style} aria-hidden="true">
      {hasIconFont && "\u{e0b0} \u{f07b} \u{f121} "}
      {ansiColors(palette).map((color, index) => (
        <span key={index} style={{ color }}>
          {"ttyhq "}
        </span>
      ))}
    </div>
  );
}
