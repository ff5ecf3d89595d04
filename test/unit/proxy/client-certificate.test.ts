import fc from "fast-check";
import { expect, test } from "vitest";
import { type ClientCertificate, userOfCertificate } from "../../../src/proxy/client-certificate.ts";

const validTo = "Jan  1 00:00:00 2030 GMT";

function named(certificate: ClientCertificate) {
  return userOfCertificate({ valid_to: validTo, ...certificate })?.user;
}

test("the login is the e-mail address of the alternative names, then of the subject, then the common name", () => {
  const subject = { CN: "Ada Lovelace", emailAddress: "subject@example.com" };
  expect(
    named({ subject, subjectaltname: "DNS:x.example, email:ada@example.com, email:b@example.com" }),
  ).toEqual({
    ...{ login: "ada@example.com", name: "Ada Lovelace", picture: undefined },
  });
  expect(named({ subject, subjectaltname: "DNS:x.example" })?.login).toBe("subject@example.com");
  expect(named({ subject: { CN: "ada" } })?.login).toBe("ada");
  expect(userOfCertificate({ subject, valid_to: validTo })?.expiresAtMs).toBe(Date.UTC(2030, 0, 1));
});

test.each<ClientCertificate>([
  {},
  { subject: {} },
  { subject: { CN: "two words" } },
  { subject: { CN: ["ada", "root"] } },
  { subject: { CN: "ada\u200b" } },
  { subject: { CN: "" } },
  { subject: { CN: "a".repeat(257) } },
])("%j names nobody", (certificate) => {
  expect(named(certificate)).toBeUndefined();
});

test("a certificate without an expiry names nobody", () => {
  expect(userOfCertificate({ subject: { CN: "ada" }, valid_to: "whenever" })).toBeUndefined();
});

test.each([
  [`URI:"http://x.example/, email:root@example.com"`, "ada"],
  [`DirName:"/CN=x, email:root@example.com"`, "ada"],
  [`email:"root@example.com, x"`, "ada"],
  [`email:"ada@example.com"`, "ada@example.com"],
  [`email:"broken`, "ada"],
  [`email:not an address`, "ada"],
  [`email:@example.com`, "ada"],
  [`DNS:email:root@example.com`, "ada"],
  [`IP Address:127.0.0.1, othername:<unsupported>, email:ada@example.com`, "ada@example.com"],
])("from the alternative names %s the login is %s", (subjectaltname, login) => {
  expect(named({ subject: { CN: "ada" }, subjectaltname })?.login).toBe(login);
});

test("no text makes reading names throw or hang, and every login is valid", () => {
  const piece = fc.oneof(fc.string(), fc.constantFrom("email:", ", ", '"', "\\", "@", "DNS:", "a@b.example"));
  fc.assert(
    fc.property(fc.array(piece), fc.string(), (pieces, CN) => {
      const login = named({ subject: { CN }, subjectaltname: pieces.join("") })?.login;
      if (login !== undefined) expect(login).toMatch(/^[^\s\p{C}]{1,256}$/u);
    }),
    { numRuns: 1_000 },
  );
});
