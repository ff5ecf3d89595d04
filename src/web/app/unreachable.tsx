import type { VNode } from "preact";
import { Logo } from "../components/icon.tsx";

export function Unreachable({ error }: { readonly error: unknown }): VNode {
  return (
    <main class="entrance">
      <div class="entrance-card">
        <Logo />
        <h1>The server does not answer</h1>
        <p class="muted">{error instanceof Error ? error.message : "Nothing is known about the reason."}</p>
        <button type="button" class="button primary wide" onClick={() => location.reload()}>
          Try again
        </button>
      </div>
    </main>
  );
}
