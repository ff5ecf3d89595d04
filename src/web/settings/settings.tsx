import type { VNode } from "preact";
import type { Page } from "../app/page.ts";
import { useLoaded } from "../components/loaded.ts";

type SettingsProps = { readonly page: Page; readonly onClose: () => void };

/** The dialog with all settings of this device. */
export function Settings({ page, onClose }: SettingsProps): VNode | undefined {
  const code = useLoaded(
    () => import("./settings-dialog.tsx"),
    (error) => {
      page.notices.failed("The settings did not load; reload the page", error);
      onClose();
    },
  );
  return code && <code.SettingsDialog page={page} onClose={onClose} />;
}
