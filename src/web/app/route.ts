// The page's current view, stored in the address so that reload, bookmarks, back and forward work. Browsers do not send
// the part after `#` to servers, so it may contain secrets.
import { SessionId } from "../../protocol/schemas/session.ts";
import { onlySession, parseTabs, printTabs } from "../layout/address.ts";
import { type Layout, selectTab, singlePane } from "../layout/layout.ts";

/** Later than the end of any recording, so playback starts at the present. */
export const PRESENT_S = 999_999_999;

/** Views without parameters. */
const PLAIN_VIEWS = ["new", "previews", "machines", "audit", "account", "usage"] as const;

export type Route =
  | { readonly view: "list" | (typeof PLAIN_VIEWS)[number] }
  /** For the repository of a session. */
  | { readonly view: "worktrees"; readonly id: string }
  | { readonly view: "session"; readonly layout: Layout };

/** The route of one session. `at`: plays the recording from that time, in seconds since its start. */
export function sessionRoute(id: string, at?: number): Route {
  return { view: "session", layout: singlePane(id, at) };
}

/**
 * `#/`, `#/new` and the like, `#/worktrees/ID`, `#/s/ID`, `#/s/ID?t=SECONDS`, `#/l/TABS`, `#/l/TABS?tab=NUMBER`
 * (layout/address.ts); anything else is the list.
 */
export function parseRoute(hash: string): Route {
  // Programs that forward links may have escaped the separators of panes.
  const path = hash.replace(/^#/, "").replace(/%[2-7][\dA-F]/gi, (code) => decodeURIComponent(code));
  const plain = PLAIN_VIEWS.find((view) => path === `/${view}`);
  if (plain !== undefined) return { view: plain };
  const session = SessionId.safeParse(/^\/worktrees\/([^/?]+)$/.exec(path)?.[1]);
  if (session.success) return { view: "worktrees", id: session.data };
  const layout = parseLayout(path);
  return layout === undefined ? { view: "list" } : { view: "session", layout };
}

function parseLayout(path: string): Layout | undefined {
  const [, name, seconds] = /^\/s\/([\w-]+)(?:\?t=(\d{1,9}(?:\.\d{1,6})?))?$/.exec(path) ?? [];
  const id = SessionId.safeParse(name);
  if (id.success) return singlePane(id.data, seconds === undefined ? undefined : Number(seconds));
  const [, text = "", number = 1] = /^\/l\/([^?]+)(?:\?tab=(\d{1,2}))?$/.exec(path) ?? [];
  const tabs = parseTabs(text);
  return tabs && selectTab({ tabs, current: 0 }, Number(number) - 1);
}

export function routeHash(route: Route): string {
  if (route.view === "worktrees") return `#/worktrees/${route.id}`;
  if (route.view !== "session") return route.view === "list" ? "#/" : `#/${route.view}`;
  const { layout } = route;
  const only = onlySession(layout);
  if (only !== undefined) return `#/s/${only.id}${only.at === undefined ? "" : `?t=${only.at}`}`;
  return `#/l/${printTabs(layout)}${layout.current === 0 ? "" : `?tab=${layout.current + 1}`}`;
}

/** Credentials in an address. */
export type Secrets = {
  /** The one-time ticket of a login link, `#login=TICKET`. */
  readonly ticket?: string | undefined;
  /** The token of a link to one session, `#share=TOKEN`. */
  readonly share?: string | undefined;
};

export function secretsIn(hash: string): Secrets {
  const [, name, secret] = /^#(login|share)=([A-Za-z0-9._~-]+)$/.exec(hash) ?? [];
  if (name === "login") return { ticket: secret };
  return name === "share" ? { share: secret } : {};
}

export function hasSecret({ ticket, share }: Secrets): boolean {
  return ticket !== undefined || share !== undefined;
}
