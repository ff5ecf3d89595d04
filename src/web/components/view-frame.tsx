import type { ComponentChildren, VNode } from "preact";
import { Icon } from "./icon.tsx";

type ViewFrameProps = {
  readonly title: string;
  /** Shown beside the title. */
  readonly about?: string | undefined;
  /** The target of the arrow, and its label. */
  readonly back: { readonly href: string; readonly words: string };
  /** Buttons at the right of the head. */
  readonly actions?: ComponentChildren;
  readonly children: ComponentChildren;
};

/** A view that fills the stage: a head with a back link, and a body that scrolls. */
export function ViewFrame({ title, about, back, actions, children }: ViewFrameProps): VNode {
  return (
    <section class="view" aria-label={title}>
      <header class="view-head">
        <a class="button ghost small" href={back.href}>
          <Icon name="back" />
          {back.words}
        </a>
        <h1>{title}</h1>
        {about !== undefined && (
          <span class="muted view-about" title={about}>
            {about}
          </span>
        )}
        <div class="view-actions">{actions}</div>
      </header>
      <div class="view-body">{children}</div>
    </section>
  );
}
