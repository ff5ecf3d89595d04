import type { VNode } from "preact";
import { Logo } from "../components/icon.tsx";
import type { Login } from "../login/login.ts";

/** Where a guest ends whose link does not open the session any more. */
export function Uninvited({ login }: { readonly login: Pick<Login, "start"> }): VNode {
  return (
    <main class="entrance">
      <div class="entrance-card">
        <Logo />
        <h1>This link opens nothing any more</h1>
        <p class="muted">It was revoked, its time is up, or the session was removed.</p>
        <button type="button" class="button wide" onClick={() => void login.start({})}>
          Log in
        </button>
      </div>
    </main>
  );
}
