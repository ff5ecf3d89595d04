// Where the page is, kept in the address so that reload, bookmarks, back and forward work. The part after `#` never
// reaches a server, which is why secrets may stand there.
import { SessionId } from "../../protocol/schemas/session.ts";

export type Route =
  | { readonly view: "list" }
  | { readonly view: "new" }
  | { readonly view: "previews" }
  /** `at`: plays the recording from there, in seconds since its start. */
  | { readonly view: "session"; readonly id: string; readonly at?: number | undefined };

/** `#/`, `#/new`, `#/previews`, `#/s/ID`, `#/s/ID?t=SECONDS`; anything else is the list. */
export function parseRoute(hash: string): Route {
  const path = hash.replace(/^#/, "");
  if (path === "/new") return { view: "new" };
  if (path === "/previews") return { view: "previews" };
  const [, name, seconds] = /^\/s\/([^/?]+)(?:\?t=(\d{1,9}(?:\.\d{1,6})?))?$/.exec(path) ?? [];
  const id = SessionId.safeParse(name);
  if (!id.success) return { view: "list" };
  return { view: "session", id: id.data, at: seconds === undefined ? undefined : Number(seconds) };
}

export function routeHash(route: Route): string {
  if (route.view === "session") return `#/s/${route.id}${route.at === undefined ? "" : `?t=${route.at}`}`;
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
