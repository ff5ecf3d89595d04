import * as fc from "fast-check";
import { expect, test } from "vitest";
import { z } from "zod";
import { memoryTickets } from "../../../../src/auth/tokens/file-records.ts";
import { LOGIN_LINKS, Tickets, WS_TICKETS } from "../../../../src/auth/tokens/tickets.ts";
import { MAX_WS_TICKETS } from "../../../../src/protocol/limits.ts";

function clockedTickets(kind = WS_TICKETS) {
  const clock = { ms: 0 };
  return {
    clock,
    tickets: new Tickets(
      kind,
      z.string(),
      memoryTickets(() => clock.ms),
    ),
  };
}

test("a ticket works once", async () => {
  const { tickets } = clockedTickets();
  const ticket = await tickets.issue("ada");
  expect(ticket).toMatch(/^[A-Za-z0-9_-]{43}$/);
  expect(await tickets.redeem(ticket)).toBe("ada");
  await expect(tickets.redeem(ticket)).rejects.toThrow("ticket was used or is too old");
});

test.each([
  ["a ticket for /ws", WS_TICKETS, 30_000],
  ["a login link", LOGIN_LINKS, 600_000],
])("%s works for its lifetime and no longer", async (_, kind, lifetimeMs) => {
  const { clock, tickets } = clockedTickets(kind);
  const [used, late] = [await tickets.issue("ada"), await tickets.issue("bob")];
  clock.ms = lifetimeMs - 1;
  expect(await tickets.redeem(used)).toBe("ada");
  clock.ms = lifetimeMs;
  await expect(tickets.redeem(late)).rejects.toThrow("too old");
});

test("a ticket of one kind is not valid as another", async () => {
  const [ws, links] = [clockedTickets(WS_TICKETS).tickets, clockedTickets(LOGIN_LINKS).tickets];
  const ticket = await links.issue("ada");
  await expect(ws.redeem(ticket)).rejects.toThrow();
  expect(await links.redeem(ticket)).toBe("ada");
});

test("over the limit the oldest ticket is dropped", async () => {
  const { tickets } = clockedTickets();
  const oldest = await tickets.issue("oldest");
  const second = await tickets.issue("second");
  for (let count = 2; count <= MAX_WS_TICKETS; count++) await tickets.issue("more");
  await expect(tickets.redeem(oldest)).rejects.toThrow();
  expect(await tickets.redeem(second)).toBe("second");
});

test("no other text is accepted as a ticket", async () => {
  const { tickets } = clockedTickets();
  const ticket = await tickets.issue("ada");
  const near = fc.nat(42).map((at) => `${ticket.slice(0, at)}.${ticket.slice(at + 1)}`);
  return fc.assert(
    fc.asyncProperty(
      fc.oneof(fc.string({ unit: "binary" }), fc.constant("x".repeat(1e6)), near),
      async (text) => {
        await expect(tickets.redeem(text)).rejects.toThrow(expect.objectContaining({ code: "unauthorized" }));
      },
    ),
  );
});
