// Where the page is, kept in the address so that reload, bookmarks, back and forward work. The part after `#` never
// reaches a server, which is why secrets may stand there.
import { SessionId } from "../../protocol/schemas/session.ts";

export type Route =
  | { readonly view: "list" }
  | { readonly view: "new" }
  | { readonly view: "previews" }
  | { readonly view: "session"; readonly id: string };

/** `#/`, `#/new`, `#/previews`, `#/s/ID`; anything else is the list. */
export function parseRoute(hash: string): Route {
  const path = hash.replace(/^#/, "");
  if (path === "/new") return { view: "new" };
  if (path === "/previews") return { view: "previews" };
  const id = SessionId.safeParse(/^\/s\/([^/]+)$/.exec(path)?.[1]);
  return id.success ? { view: "session", id: id.data } : { view: "list" };
}

export function routeHash(route: Route): string {
  if (route.view === "session") return `#/s/${route.id}`;
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
