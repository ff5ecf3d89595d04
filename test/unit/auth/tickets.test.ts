import * as fc from "fast-check";
import { expect, test } from "vitest";
import { LOGIN_LINKS, Tickets, WS_TICKETS } from "../../../src/auth/tickets.ts";
import { MAX_WS_TICKETS } from "../../../src/protocol/limits.ts";

function clockedTickets(kind = WS_TICKETS) {
  const clock = { ms: 0 };
  return { clock, tickets: new Tickets<string>(kind, () => clock.ms) };
}

test("a ticket works once", () => {
  const { tickets } = clockedTickets();
  const ticket = tickets.issue("ada");
  expect(ticket).toMatch(/^[A-Za-z0-9_-]{43}$/);
  expect(tickets.redeem(ticket)).toBe("ada");
  expect(() => tickets.redeem(ticket)).toThrow("ticket was used or is too old");
});

test.each([
  ["a ticket for /ws", WS_TICKETS, 30_000],
  ["a login link", LOGIN_LINKS, 600_000],
])("%s works for its lifetime and no longer", (_, kind, lifetimeMs) => {
  const { clock, tickets } = clockedTickets(kind);
  const [used, late] = [tickets.issue("ada"), tickets.issue("bob")];
  clock.ms = lifetimeMs - 1;
  expect(tickets.redeem(used)).toBe("ada");
  clock.ms = lifetimeMs;
  expect(() => tickets.redeem(late)).toThrow("too old");
});

test("a ticket of one kind is none of the other", () => {
  const [ws, links] = [clockedTickets(WS_TICKETS).tickets, clockedTickets(LOGIN_LINKS).tickets];
  const ticket = links.issue("ada");
  expect(() => ws.redeem(ticket)).toThrow();
  expect(links.redeem(ticket)).toBe("ada");
});

test("over the bound the oldest ticket is forgotten", () => {
  const { tickets } = clockedTickets();
  const oldest = tickets.issue("oldest");
  const second = tickets.issue("second");
  for (let count = 2; count <= MAX_WS_TICKETS; count++) tickets.issue("more");
  expect(() => tickets.redeem(oldest)).toThrow();
  expect(tickets.redeem(second)).toBe("second");
});

test("no other text is a ticket", () => {
  const { tickets } = clockedTickets();
  const ticket = tickets.issue("ada");
  const near = fc.nat(42).map((at) => `${ticket.slice(0, at)}.${ticket.slice(at + 1)}`);
  return fc.assert(
    fc.property(fc.oneof(fc.string({ unit: "binary" }), fc.constant("x".repeat(1e6)), near), (text) => {
      expect(() => tickets.redeem(text)).toThrow(expect.objectContaining({ code: "unauthorized" }));
    }),
  );
});
