// The browser's own notifications.
import type { Alert } from "./alert.ts";

/** Reasons for their absence. */
export const NO_NOTIFICATIONS = {
  unsupported:
    "This browser shows no notifications for this page. They need HTTPS or localhost, and on Android another browser than Chrome.",
  denied: "Notifications are blocked for this page. Allow them in the site settings of the browser.",
} as const;

const ICON = "/icon-192.png";

/** Whether the person allows them; asks if unknown. Otherwise the reason. Must be called in a click handler. */
export async function allowNotifications(): Promise<"granted" | keyof typeof NO_NOTIFICATIONS> {
  if (!("Notification" in window) || !window.isSecureContext) return "unsupported";
  const permission =
    Notification.permission === "default" ? await Notification.requestPermission() : Notification.permission;
  if (permission !== "granted") return "denied";
  try {
    // Some browsers have the class and refuse to create an instance.
    notify({ title: "ttyhq", body: "Notifications arrive here." });
    return "granted";
  } catch {
    return "unsupported";
  }
}

/** A click raises the window and calls back. Does nothing without permission. */
export function showAlert(alert: Alert, onClick: (sessionId: string) => void): void {
  if (!("Notification" in window) || Notification.permission !== "granted") return;
  const notification = notify(alert);
  notification.onclick = () => {
    window.focus();
    notification.close();
    if (alert.sessionId !== undefined) onClick(alert.sessionId);
  };
}

/** A new notification of the same session replaces it. */
function notify({ title, body, sessionId }: Alert): Notification {
  return new Notification(title, { body, tag: `ttyhq-${sessionId ?? "test"}`, icon: ICON });
}
