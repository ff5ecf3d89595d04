import type { Access } from "../login/login.ts";
import type { OpenSession } from "../terminal/open-session.ts";
import type { Page } from "./page.ts";
import type { Workspace } from "./workspace.ts";

/** What the views inside a login are given. */
export type WorkspaceProps = { readonly page: Page; readonly workspace: Workspace };

/** What the views of the session that is open are given. */
export type SessionProps = WorkspaceProps & { readonly open: OpenSession };

/** By what those came in who are nobody's guests. */
export type UserAccess = Exclude<Access, { readonly kind: "guest" }>;
