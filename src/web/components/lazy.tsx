import { useSignal } from "@preact/signals";
import type { ComponentType, VNode } from "preact";
import { useEffect } from "preact/hooks";
import type { Page } from "../app/page.ts";

type LazyProps = {
  readonly page: Page;
  /** Also called if the code does not load. */
  readonly onClose?: () => void;
};

/** A component whose code loads at first use; `what` names it in the message if it does not. */
export function lazy<P extends LazyProps>(
  what: string,
  load: () => Promise<ComponentType<P>>,
): (props: P & LazyProps) => VNode | undefined {
  return function Lazy(props) {
    const loaded = useSignal<{ readonly View: ComponentType<P> } | undefined>(undefined);
    useEffect(() => {
      let isShown = true;
      load().then(
        (View) => {
          loaded.value = { View };
        },
        (error: unknown) => {
          props.page.notices.failed(`${what} did not load; reload the page`, error);
          if (isShown) props.onClose?.();
        },
      );
      return () => {
        isShown = false;
      };
      // The functions of the first render behave like later ones.
    }, []);
    return loaded.value && <loaded.value.View {...props} />;
  };
}
