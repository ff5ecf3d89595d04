import { expect, test } from "vitest";
import { createClient } from "../../../../src/protocol/client/client.ts";
import { Connection } from "../../../../src/protocol/client/connection.ts";
import type { Link } from "../../../../src/protocol/client/link.ts";
import { endpoints } from "../../../../src/protocol/endpoints/endpoints.ts";
import { openBrowserLink, passing } from "../../../../src/web/app/browser-link.ts";

const HANDLERS = { onMessage: () => undefined, onClose: () => undefined };

test("an attempt that is cancelled while it requests its ticket opens no connection", async () => {
  const link = openBrowserLink("ws://nowhere.invalid/ws", HANDLERS, AbortSignal.abort());
  await expect(link).rejects.toMatchObject({
    code: "host_unreachable",
    message: "the attempt to connect was aborted",
  });
});

/** What a page's ticket comes to when it is answered like that: a connection whose second try finds the server. */
function asking(status: number, body: string): Disposable & { readonly connection: Connection } {
  const client = createClient(async () => ({
    ...{ status, headers: new Map() },
    body: (async function* () {
      yield new TextEncoder().encode(body);
    })(),
  }));
  const link: Link = { send: () => undefined, close: () => undefined, bufferedBytes: 0 };
  let tries = 0;
  const open = async (): Promise<Link> => {
    tries += 1;
    if (tries === 1) await client.call(endpoints.createWsTicket).catch(passing);
    return link;
  };
  const connection = new Connection(
    { open, times: { quickMs: 1, firstMs: 1, maxMs: 1 } },
    {
      opened: () => undefined,
      message: () => undefined,
      leaving: async () => undefined,
      lost: () => undefined,
    },
  );
  return { connection, [Symbol.dispose]: () => connection[Symbol.dispose]() };
}

test("a proxy that knows no server for the moment ends no page's connection", async () => {
  using page = asking(404, "404 page not found");
  await page.connection.opened(20_000);
});

test("a refusal of the server itself is final", async () => {
  using page = asking(403, '{"error":"not from there","code":"origin_not_allowed","details":{}}');
  await expect(page.connection.opened(20_000)).rejects.toMatchObject({ code: "origin_not_allowed" });
});
