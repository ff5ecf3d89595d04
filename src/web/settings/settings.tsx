import { lazy } from "../components/lazy.tsx";

/** The dialog with all settings of this device. */
export const Settings = lazy(
  "The settings",
  async () => (await import("./settings-dialog.tsx")).SettingsDialog,
);
