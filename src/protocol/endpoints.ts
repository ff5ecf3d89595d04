// Every endpoint of the service, as data. The handlers are in http/routes, one for each name.
import { auditEndpoints } from "./audit-endpoints.ts";
import { authEndpoints } from "./auth-endpoints.ts";
import { followEndpoints } from "./follow-endpoints.ts";
import { gitEndpoints } from "./git-endpoints.ts";
import { joinEndpoints } from "./join-endpoints.ts";
import { loginEndpoints } from "./login-endpoints.ts";
import { passkeyEndpoints } from "./passkey-endpoints.ts";
import { remoteEndpoints } from "./remote-endpoints.ts";
import { serverEndpoints } from "./server-endpoints.ts";
import { sessionEndpoints } from "./session-endpoints.ts";
import { shareEndpoints } from "./share-endpoints.ts";
import { vibeTunnelEndpoints } from "./vibetunnel-endpoints.ts";

export const endpoints = {
  ...vibeTunnelEndpoints,
  ...sessionEndpoints,
  ...shareEndpoints,
  ...serverEndpoints,
  ...auditEndpoints,
  ...authEndpoints,
  ...loginEndpoints,
  ...passkeyEndpoints,
  ...remoteEndpoints,
  ...joinEndpoints,
  ...gitEndpoints,
  ...followEndpoints,
};

export type Endpoints = typeof endpoints;
export type EndpointName = keyof Endpoints;
