import type { VNode } from "preact";
import { SecondFactorView } from "../account/second-factor.tsx";
import { Button, keepFocus } from "../components/button.tsx";
import { Icon, Logo } from "../components/icon.tsx";
import { PanesView } from "../layout/panes-view.tsx";
import type { Login } from "../login/login.ts";
import { LoginQuestionView } from "../login/login-question.tsx";
import { LoginView } from "../login/login-view.tsx";
import { ConnectionBanner } from "./connection-banner.tsx";
import type { Notices } from "./notices.ts";
import type { Page } from "./page.ts";
import type { WorkspaceProps } from "./view-props.ts";
import { WorkspaceView } from "./workspace-view.tsx";

export function App({ page }: { readonly page: Page }): VNode {
  return (
    <>
      <Stage page={page} />
      <NoticeList notices={page.notices} />
    </>
  );
}

function Stage({ page }: { readonly page: Page }): VNode {
  const state = page.login.state.value;
  const workspace = page.workspace.value;
  if (state.kind === "in" && workspace !== undefined) {
    if (state.access.kind === "guest") return <GuestView page={page} workspace={workspace} />;
    // The key: nothing of a former user's view stays.
    return <WorkspaceView key={workspace} page={page} workspace={workspace} access={state.access} />;
  }
  if (state.kind === "out") return <LoginView login={page.login} keyring={page.keyring} state={state} />;
  if (state.kind === "question")
    return <LoginQuestionView key={state.question.challengeId} login={page.login} state={state} />;
  if (state.kind === "second-factor") return <SecondFactorView login={page.login} state={state} />;
  if (state.kind === "uninvited") return <Uninvited login={page.login} />;
  if (state.kind === "unreachable") return <Unreachable error={state.error} />;
  return <output class="splash" aria-label="Loading" />;
}

/** The one session that a link opens. */
function GuestView({ page, workspace }: WorkspaceProps): VNode {
  const open = workspace.panes.focused.value;
  const layout = workspace.panes.layout.value;
  return (
    <main class="stage guest">
      {open === undefined || layout === undefined ? (
        <NoSession workspace={workspace} />
      ) : (
        <PanesView page={page} workspace={workspace} layout={layout} />
      )}
      <ConnectionBanner workspace={workspace} refusals={open?.reachability.refusals.value ?? 0} />
    </main>
  );
}

function NoSession({ workspace }: Pick<WorkspaceProps, "workspace">): VNode {
  if (workspace.sessions.all.value === undefined) {
    return <output class="splash" aria-label="Opening the session" />;
  }
  return (
    <div class="missing">
      <h1>The session is not available</h1>
      <p class="muted">Its machine is offline, or it was removed. If it comes back, it appears here.</p>
    </div>
  );
}

function NoticeList({ notices }: { readonly notices: Notices }): VNode {
  return (
    <div class="notices" aria-live="polite">
      {notices.list.value.map((notice) => (
        <div key={notice.id} class={`notice ${notice.tone}`}>
          <Icon name={notice.tone === "error" ? "warning" : "check"} />
          <span>{notice.text}</span>
          <Button
            kind="ghost small"
            icon="close"
            label="Close"
            onMouseDown={keepFocus}
            onClick={() => notices.close(notice.id)}
          />
        </div>
      ))}
    </div>
  );
}

/** Shown to a guest whose link no longer opens the session. */
function Uninvited({ login }: { readonly login: Pick<Login, "start"> }): VNode {
  return (
    <main class="entrance">
      <div class="entrance-card">
        <Logo />
        <h1>This link opens nothing any more</h1>
        <p class="muted">It was revoked, its time is up, or the session was removed.</p>
        <Button kind="wide" onClick={() => void login.start({})}>
          Log in
        </Button>
      </div>
    </main>
  );
}

function Unreachable({ error }: { readonly error: unknown }): VNode {
  return (
    <main class="entrance">
      <div class="entrance-card">
        <Logo />
        <h1>The server does not answer</h1>
        <p class="muted">{error instanceof Error ? error.message : "Nothing is known about the reason."}</p>
        <Button kind="primary wide" onClick={() => location.reload()}>
          Try again
        </Button>
      </div>
    </main>
  );
}
