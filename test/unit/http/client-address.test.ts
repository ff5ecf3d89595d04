import fc from "fast-check";
import { expect, test } from "vitest";
import { clientReader, connectionOf } from "../../../src/http/client-address.ts";
import { Secret } from "../../../src/lib/secret.ts";

const RANGES = [
  { address: "10.0.0.0", prefix: 8 },
  { address: "fd00::", prefix: 8 },
];
const PROOF = "proof";
const clientOf = clientReader({ ranges: RANGES, proof: Secret.fromText(PROOF) });

function from(remoteAddress: string | undefined, headers: Record<string, string> = {}) {
  return { headers: { host: "inner:4020", ...headers }, socket: { remoteAddress } };
}

function addressOf(peer: string, list: string): string | undefined {
  return clientOf(from(peer, { "x-forwarded-for": list })).address;
}

const SPOKEN = {
  "x-forwarded-for": "192.0.2.1",
  "x-forwarded-proto": "https",
  "x-forwarded-host": "term.example.com",
};

test("forwarding headers count only from a trusted proxy", () => {
  for (const peer of ["192.0.2.9", "127.0.0.1", "::1", "11.0.0.1", "fe80::1%eth0", undefined]) {
    const request = from(peer, SPOKEN);
    expect(clientOf(request)).toEqual({ address: peer, host: "inner:4020", isHttps: false });
    expect(clientOf(request)).toEqual(connectionOf(request));
  }
});

test("a trusted proxy names the address, scheme and host of a request", () => {
  for (const peer of ["10.1.2.3", "::ffff:10.1.2.3", "fd00::1"]) {
    expect(clientOf(from(peer, SPOKEN))).toEqual({
      address: "192.0.2.1",
      host: "term.example.com",
      isHttps: true,
    });
  }
  expect(clientOf(from("10.1.2.3"))).toEqual({ address: "10.1.2.3", host: "inner:4020", isHttps: false });
});

test("our own proxy is trusted by its proof, only on this machine", () => {
  const proven = { ...SPOKEN, "proxy-user-proof": PROOF };
  expect(clientOf(from("127.0.0.1", proven)).address).toBe("192.0.2.1");
  expect(clientOf(from("127.0.0.1", { ...proven, "proxy-user-proof": "guess" })).address).toBe("127.0.0.1");
  expect(clientOf(from("192.0.2.9", proven)).address).toBe("192.0.2.9");
  const without = clientReader({ ranges: [] });
  expect(without(from("127.0.0.1", proven)).address).toBe("127.0.0.1");
});

test.each([
  // Addresses that the client forged precede those of the proxies.
  ["127.0.0.1, 192.0.2.1", "192.0.2.1"],
  ["127.0.0.1, 192.0.2.1, 10.0.0.7", "192.0.2.1"],
  ["192.0.2.1,10.0.0.7 ,  fd00::7", "192.0.2.1"],
  ["192.0.2.1:5000", "192.0.2.1"],
  ["[2001:db8::1]:5000", "2001:db8::1"],
  ["[2001:db8::1]", "2001:db8::1"],
  ["2001:db8::1", "2001:db8::1"],
  // A client of the inner network.
  ["10.0.0.7", "10.0.0.7"],
  ["10.0.0.7, 10.0.0.8", "10.0.0.7"],
  // The origin of earlier values is unknown.
  ["192.0.2.1, unknown", "10.1.2.3"],
  ["192.0.2.1, unknown, 10.0.0.9", "10.0.0.9"],
  ["192.0.2.1, ", "192.0.2.1"],
  ["", "10.1.2.3"],
  ["localhost", "10.1.2.3"],
])("of X-Forwarded-For %j the client is %s", (list, address) => {
  expect(addressOf("10.1.2.3", list)).toBe(address);
});

test("of several schemes and hosts the nearest proxy's counts", () => {
  const headers = {
    "x-forwarded-proto": "https, http",
    "x-forwarded-host": "evil.example, term.example.com",
  };
  expect(clientOf(from("10.1.2.3", headers))).toMatchObject({ host: "term.example.com", isHttps: false });
  expect(clientOf(from("10.1.2.3", { "x-forwarded-proto": "WSS" })).isHttps).toBe(true);
});

test("for any list the client is an address in it or the proxy", () => {
  const item = fc.oneof(
    fc.ipV4(),
    fc.ipV6(),
    fc.string(),
    fc.constantFrom("10.0.0.1", "", ",", "unknown", "[", "::ffff:1.2.3.4"),
  );
  fc.assert(
    fc.property(fc.array(item), (items) => {
      const list = items.join(",");
      const address = addressOf("10.1.2.3", list) ?? "";
      expect(address === "10.1.2.3" || list.includes(address)).toBe(true);
    }),
    { numRuns: 1_000 },
  );
});
