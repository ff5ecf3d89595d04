// Where the page is, kept in the address so that reload, bookmarks, back and forward work. The part after `#` never
// reaches a server, which is why secrets may stand there.
import { SessionId } from "../../protocol/schemas/session.ts";

/** Views that need no more than their name. */
const PLAIN_VIEWS = ["new", "previews", "machines", "audit", "account"] as const;

export type Route =
  | { readonly view: "list" | (typeof PLAIN_VIEWS)[number] }
  /** Of the repository of a session. */
  | { readonly view: "worktrees"; readonly id: string }
  /** `at`: plays the recording from there, in seconds since its start. */
  | { readonly view: "session"; readonly id: string; readonly at?: number | undefined };

/** `#/`, `#/new` and the like, `#/worktrees/ID`, `#/s/ID`, `#/s/ID?t=SECONDS`; anything else is the list. */
export function parseRoute(hash: string): Route {
  const path = hash.replace(/^#/, "");
  const plain = PLAIN_VIEWS.find((view) => path === `/${view}`);
  if (plain !== undefined) return { view: plain };
  const session = SessionId.safeParse(/^\/worktrees\/([^/?]+)$/.exec(path)?.[1]);
  if (session.success) return { view: "worktrees", id: session.data };
  const [, name, seconds] = /^\/s\/([^/?]+)(?:\?t=(\d{1,9}(?:\.\d{1,6})?))?$/.exec(path) ?? [];
  const id = SessionId.safeParse(name);
  if (!id.success) return { view: "list" };
  return { view: "session", id: id.data, at: seconds === undefined ? undefined : Number(seconds) };
}

export function routeHash(route: Route): string {
  if (route.view === "session") return `#/s/${route.id}${route.at === undefined ? "" : `?t=${route.at}`}`;
  if (route.view === "worktrees") return `#/worktrees/${route.id}`;
  return route.view === "list" ? "#/" : `#/${route.view}`;
}

/** What an address may let somebody in with. */
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
