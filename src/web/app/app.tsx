import type { VNode } from "preact";
import { SecondFactorView } from "../account/second-factor.tsx";
import { LoginQuestionView } from "../login/login-question.tsx";
import { LoginView } from "../login/login-view.tsx";
import { GuestView } from "./guest-view.tsx";
import { NoticeList } from "./notice-list.tsx";
import type { Page } from "./page.ts";
import { Uninvited } from "./uninvited.tsx";
import { Unreachable } from "./unreachable.tsx";
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
    return <WorkspaceView page={page} workspace={workspace} access={state.access} />;
  }
  if (state.kind === "out") return <LoginView login={page.login} keyring={page.keyring} state={state} />;
  if (state.kind === "question")
    return <LoginQuestionView key={state.question.challengeId} login={page.login} state={state} />;
  if (state.kind === "second-factor") return <SecondFactorView login={page.login} state={state} />;
  if (state.kind === "uninvited") return <Uninvited login={page.login} />;
  if (state.kind === "unreachable") return <Unreachable error={state.error} />;
  return <output class="splash" aria-label="Loading" />;
}
