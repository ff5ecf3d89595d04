import type { ComponentChildren, VNode } from "preact";
import { Icon } from "./icon.tsx";

type BannerProps = {
  readonly words: string;
  /** The number of keys typed and not sent. */
  readonly refusals: number;
  /** Beside the words, and not announced: a countdown, buttons that may solve the problem. */
  readonly children?: ComponentChildren;
};

/** Covers the unchanged terminal while input does not reach the program. */
export function Banner({ words, refusals, children }: BannerProps): VNode {
  return (
    <div class="banner">
      <Icon name="plug" />
      <div class="banner-words" role="status">
        <span>{words}</span>
        {refusals > 0 && (
          // A new key for each refusal restarts the animation.
          <strong key={refusals} class="refused">
            What you type is not sent.
          </strong>
        )}
      </div>
      {children}
    </div>
  );
}
