// Where the page is, kept in the address so that reload, bookmarks, back and forward work. The part after `#` never
// reaches a server, which is why a login ticket may stand there.
import { SessionId } from "../protocol/session.ts";

export type Route =
  | { readonly view: "list" }
  | { readonly view: "new" }
  | { readonly view: "session"; readonly id: string };

/** `#/`, `#/new`, `#/s/ID`; anything else is the list. */
export function parseRoute(hash: string): Route {
  const path = hash.replace(/^#/, "");
  if (path === "/new") return { view: "new" };
  const id = SessionId.safeParse(/^\/s\/([^/]+)$/.exec(path)?.[1]);
  return id.success ? { view: "session", id: id.data } : { view: "list" };
}

export function routeHash(route: Route): string {
  if (route.view === "session") return `#/s/${route.id}`;
  return route.view === "new" ? "#/new" : "#/";
}

/** The one-time ticket of a login link (`#login=TICKET`), if the address is one. */
export function loginTicket(hash: string): string | undefined {
  return /^#login=([A-Za-z0-9._~-]+)$/.exec(hash)?.[1];
}
