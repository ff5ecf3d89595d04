import type { VNode } from "preact";
import { routeHash } from "../app/route.ts";
import type { WorkspaceProps } from "../app/view-props.ts";
import { useToggle } from "../components/toggle.ts";
import { ViewFrame } from "../components/view-frame.tsx";
import { LinkList } from "./link-list.tsx";
import { LoginList } from "./login-list.tsx";

/** The user's logins, and the links to the user's sessions. Admins see those of all users. */
export function AccountView({ page, workspace }: WorkspaceProps): VNode {
  const { client, permissions } = workspace;
  const ofAll = useToggle();
  const login = page.login.state.value;
  const hasLogins = login.kind === "in" && login.access.kind === "login";
  return (
    <ViewFrame
      title="Logins and links"
      back={{ href: routeHash({ view: "list" }), words: "Sessions" }}
      actions={
        permissions.has("accounts:manage") && (
          <a class="button small" href={routeHash({ view: "usage" })}>
            Usage and limits
          </a>
        )
      }
    >
      {permissions.has("sessions:manage") && (
        <section aria-labelledby="links">
          <h2 id="links">Share links</h2>
          <LinkList page={page} workspace={workspace} />
        </section>
      )}
      {hasLogins && (
        <section aria-labelledby="logins">
          <h2 id="logins">Logins</h2>
          <p class="muted">Devices and programs that are logged in. Ending a login disconnects it at once.</p>
          {permissions.has("accounts:manage") && (
            <label class="check">
              <input type="checkbox" checked={ofAll.isOn} onChange={ofAll.flip} />
              Of all users
            </label>
          )}
          <LoginList client={client} now={page.clock.now.value} isOfAll={ofAll.isOn} />
        </section>
      )}
    </ViewFrame>
  );
}
