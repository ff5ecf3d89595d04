import type { Access } from "../login/login.ts";
import type { OpenSession } from "../terminal/open-session.ts";
import type { Page } from "./page.ts";
import type { Workspace } from "./workspace.ts";

/** The properties of views inside a login. */
export type WorkspaceProps = { readonly page: Page; readonly workspace: Workspace };

/** The properties of views of the open session. */
export type SessionProps = WorkspaceProps & { readonly open: OpenSession };

/** How a user who is not a guest was admitted. */
export type UserAccess = Exclude<Access, { readonly kind: "guest" }>;
