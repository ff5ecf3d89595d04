import type { ComponentChildren, VNode } from "preact";
import { Icon } from "./icon.tsx";

type BannerProps = {
  readonly words: string;
  /** Counts the keys that were typed and not sent. */
  readonly refusals: number;
  /** What can be done about it. */
  readonly children?: ComponentChildren;
};

/** Lies over the terminal, which stays as it is, while what is typed does not reach the program. */
export function Banner({ words, refusals, children }: BannerProps): VNode {
  return (
    <div class="banner" role="status">
      <Icon name="plug" />
      <div class="banner-words">
        <span>{words}</span>
        {refusals > 0 && (
          // Another key for each refusal starts the animation anew.
          <strong key={refusals} class="refused">
            What you type is not sent.
          </strong>
        )}
      </div>
      {children}
    </div>
  );
}
