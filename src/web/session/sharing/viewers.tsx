// The viewers of the session, and who is typing.
import type { VNode } from "preact";
import { useRef } from "preact/hooks";
import type { SessionProps } from "../../app/view-props.ts";
import { Button } from "../../components/button.tsx";
import { Icon } from "../../components/icon.tsx";
import { useToggle } from "../../components/toggle.ts";
import { useDismissal } from "../dismissal.ts";
import { GuestNameForm } from "./guest-name-form.tsx";
import { initials, type Person, peopleOf, presenceWords } from "./viewer-words.ts";

const MAX_SHOWN = 3;

type ViewersProps = Pick<SessionProps, "workspace" | "open">;

/** Hidden while nobody else watches. */
export function Viewers({ workspace, open }: ViewersProps): VNode | undefined {
  const list = useToggle();
  const root = useRef<HTMLDivElement>(null);
  const close = (): void => {
    list.off();
    open.emulator.focus();
  };
  useDismissal(root, list.isOn, close);
  const viewers = open.viewers.value;
  if (viewers.length < 2) return undefined;
  const people = peopleOf(viewers);
  const words = presenceWords(people);
  return (
    <div class="menu-root viewers-root" ref={root}>
      <Button kind="ghost viewers" label={words} title={words} aria-expanded={list.isOn} onClick={list.flip}>
        <span class="viewer-stack wide-only">
          {people.slice(0, MAX_SHOWN).map((person) => (
            <Initials key={person.key} person={person} />
          ))}
        </span>
        <Icon name="people" />
        <span>{viewers.length}</span>
      </Button>
      {list.isOn && (
        <section class="menu viewer-list" aria-label="Who watches">
          <ul>
            {people.map((person) => (
              <PersonRow key={person.key} person={person} workspace={workspace} open={open} />
            ))}
          </ul>
          {workspace.guestName && <GuestNameForm guestName={workspace.guestName} />}
        </section>
      )}
    </div>
  );
}

function Initials({ person }: { readonly person: Person }): VNode {
  const { viewer } = person;
  return (
    <span class={`initials ${viewer.kind} ${person.isTyping ? "typing" : ""}`} aria-hidden="true">
      {initials(viewer.name)}
    </span>
  );
}

function PersonRow({ person, workspace, open }: ViewersProps & { readonly person: Person }): VNode {
  const { viewer, detail } = person;
  const { shareId: id, mayType } = viewer;
  const mayStop = id !== undefined && mayType && workspace.permissions.has("sessions:manage");
  return (
    <li>
      <Initials person={person} />
      <span class="viewer-name">
        <bdi title={viewer.name}>{viewer.name}</bdi>
        <span class="muted">{detail}</span>
      </span>
      {mayStop && (
        <Button
          kind="danger-quiet small"
          title="Everyone who came by this link may only watch from now on"
          onClick={() => void workspace.allowTyping({ id, sessionId: open.id }, false)}
        >
          Stop typing
        </Button>
      )}
    </li>
  );
}
