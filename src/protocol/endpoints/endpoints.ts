// Every endpoint of the service, as data. The handlers are in http/routes, by the same names.
import { authEndpoints } from "./auth.ts";
import type { Endpoint } from "./endpoint.ts";
import { gitEndpoints } from "./git.ts";
import { remoteEndpoints } from "./remote.ts";
import { serverEndpoints } from "./server.ts";
import { sessionEndpoints, shareEndpoints } from "./session.ts";
import { vibeTunnelEndpoints } from "./vibetunnel.ts";

export const endpoints = {
  ...vibeTunnelEndpoints,
  ...sessionEndpoints,
  ...shareEndpoints,
  ...serverEndpoints,
  ...authEndpoints,
  ...remoteEndpoints,
  ...gitEndpoints,
} satisfies Record<string, Endpoint>;

export type Endpoints = typeof endpoints;
export type EndpointName = keyof Endpoints;
