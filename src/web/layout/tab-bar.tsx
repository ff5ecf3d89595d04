import type { VNode } from "preact";
import { routeHash } from "../app/route.ts";
import type { WorkspaceProps } from "../app/view-props.ts";
import { Button } from "../components/button.tsx";
import { Icon } from "../components/icon.tsx";
import { nameWords } from "../session/words.ts";
import { type Layout, MAX_TABS, panesOf, selectTab, type Tab } from "./layout.ts";

type TabBarProps = Pick<WorkspaceProps, "workspace"> & { readonly layout: Layout };

/** Shown with more than one tab. Each tab is a link to its address. */
export function TabBar({ workspace, layout }: TabBarProps): VNode {
  const { panes } = workspace;
  return (
    <nav class="tab-bar" aria-label="Tabs">
      <ul>
        {layout.tabs.map((tab, number) => {
          const isCurrent = number === layout.current;
          const words = tabWords(workspace, tab);
          return (
            <li key={number} class={isCurrent ? "tab current" : "tab"}>
              <a
                href={routeHash({ view: "session", layout: selectTab(layout, number) })}
                title={words}
                {...(isCurrent && { "aria-current": "true" })}
              >
                {!isCurrent && hasRung(workspace, tab) && <Icon name="bell" />}
                <span>{words}</span>
              </a>
              <Button
                kind="ghost small"
                icon="close"
                label={`Close tab ${number + 1}`}
                title="Close the tab; its sessions keep running"
                onClick={() => panes.closeTab(number)}
              />
            </li>
          );
        })}
      </ul>
      <Button
        kind="ghost small"
        icon="plus"
        label="New tab"
        title="New tab"
        disabled={layout.tabs.length >= MAX_TABS}
        onClick={() => panes.addTab()}
      />
    </nav>
  );
}

/** The names of its sessions. */
function tabWords({ sessions }: WorkspaceProps["workspace"], { tree }: Tab): string {
  const names = panesOf(tree).map(({ id }) => {
    const record = id === undefined ? undefined : sessions.record(id);
    return record === undefined ? (id ?? "empty") : nameWords(record);
  });
  return names.join(", ");
}

function hasRung({ sessions }: WorkspaceProps["workspace"], { tree }: Tab): boolean {
  return panesOf(tree).some(({ id }) => id !== undefined && sessions.rung.value.has(id));
}
