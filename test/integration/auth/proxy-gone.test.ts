// Clients of the reverse proxy that leave while their login is checked.
import { expect, test } from "vitest";
import { withDeadline } from "../../../src/lib/async/deadline.ts";
import type { ProviderAnswer } from "../../../src/proxy/provider/provider-answer.ts";
import { PATIENCE_MS } from "../harness/patience.ts";
import { ForwardingStage } from "./forwarding-stage.ts";

test("for a request whose client left before its login was known to stand nothing is opened", async () => {
  const asked = Promise.withResolvers<ProviderAnswer>();
  const stands = Promise.withResolvers<ProviderAnswer>();
  const renew = (last: ProviderAnswer): Promise<ProviderAnswer> => {
    asked.resolve(last);
    return stands.promise;
  };
  await using stage = await ForwardingStage.open((_, response) => response.end(), { renew });
  let opened = 0;
  stage.upstream.on("connection", () => {
    opened += 1;
  });
  const user = { login: "bob", name: undefined, picture: undefined };
  const value = await stage.logins.begin({
    ...{ subject: "2", user, idToken: undefined, refreshToken: "refresh", validForMs: 0 },
  });
  const cookie = `__Host-ttyhq-login=${value}`;
  const socket = await stage.client().raw(stage.url);
  socket.write(`GET /left HTTP/1.1\r\nHost: localhost\r\nCookie: ${cookie}\r\n\r\n`);
  const answer = await withDeadline(asked.promise, PATIENCE_MS, "the question for the login");
  socket.destroy();
  // When another client is refused, the proxy already knows that the first has left.
  expect((await stage.client().ask(`${stage.url}/`)).status).toBe(401);
  stands.resolve({ ...answer, validForMs: 3_600_000 });
  expect((await stage.client().ask(`${stage.url}/`, { headers: { cookie } })).status).toBe(200);
  expect(opened).toBe(1);
});
