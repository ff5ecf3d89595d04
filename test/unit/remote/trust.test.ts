import { expect, test } from "vitest";
import { trusting } from "../../../src/remote/trust.ts";
import { CertificateAuthority } from "../certificate-authority.ts";

test("the TLS context of an authority is created once, however many connections there are", () => {
  const { cert } = new CertificateAuthority("test");
  const { secureContext } = trusting(cert);
  expect(secureContext).toBeDefined();
  expect(trusting(cert).secureContext).toBe(secureContext);
  expect(trusting(cert.slice()).secureContext).not.toBe(secureContext);
});

test("without one, Node decides whom to trust", () => expect(trusting(undefined)).toEqual({}));
