import type { Hub } from "../../hub/hub.ts";
import type { Metrics } from "../../metrics/metrics.ts";
import { endpoints } from "../../protocol/endpoints/endpoints.ts";
import { openApi } from "../../protocol/endpoints/openapi.ts";
import type { Health } from "../../protocol/schemas/health.ts";
import type { Media, Routes } from "../route.ts";

/** Health, clients, metrics and the API description (contract 2.6, 2.7). */
export function serverRoutes(parts: {
  readonly health: () => Promise<Health>;
  readonly checkReady: () => void;
  readonly metrics: Pick<Metrics, "text" | "type">;
  readonly hub: Pick<Hub, "clients" | "tellUser">;
  readonly version: string;
  /** Names of the endpoints that are served, and therefore described. */
  readonly mounted: () => readonly string[];
}): Routes {
  const { health, checkReady, metrics, hub, version, mounted } = parts;
  // Constant, public, and takes tens of milliseconds to generate.
  let description: Uint8Array | undefined;
  return {
    health,
    livez: async () => plain("ok\n"),
    readyz: async () => {
      checkReady();
      return plain("ok\n");
    },
    ready: async () => {
      checkReady();
      return { status: "ready" };
    },
    metrics: async () => ({ ...plain(await metrics.text()), type: metrics.type }),
    openapi: async () => {
      description ??= describe(mounted(), version);
      return description;
    },
    testNotification: async (_, { principal }) => {
      const event = testEvent(new Date());
      const told = hub.tellUser(principal.user, event);
      return { success: true, message: `test notification sent to ${told} of your clients`, event };
    },
    listClients: async () =>
      hub.clients.map(({ identity: { id, user, address, connectedAt }, sessionIds, hello }) => ({
        ...{ id, user, connectedAt, subscriptions: sessionIds },
        ...(address === undefined ? {} : { address }),
        ...(hello && { client: hello.client, version: hello.version }),
      })),
  };
}

/** In VibeTunnel's form, with a made-up session. */
function testEvent(now: Date) {
  const text = "Notifications arrive here";
  return {
    type: "test-notification",
    ...{ timestamp: now.toISOString(), sessionId: "test-session", sessionName: "Test" },
    ...{ message: text, title: "Test notification", body: text },
  } as const;
}

function describe(mounted: readonly string[], version: string): Uint8Array {
  const names = new Set(mounted);
  const served = Object.entries(endpoints).filter(([name]) => names.has(name));
  return Buffer.from(JSON.stringify(openApi(Object.fromEntries(served), version)));
}

function plain(text: string): Media {
  const bytes = new TextEncoder().encode(text);
  return { type: "text/plain; charset=utf-8", length: bytes.length, body: bytes };
}
