import { expect, test } from "vitest";
import { nearest } from "../../../src/lib/nearest.ts";

const WORDS = ["port", "bind", "tls-cert", "tls-key", "control-dir"];

test.each([
  ["prot", "port"],
  ["tls_cert", "tls-cert"],
  ["tls-certificate", "tls-cert"],
  ["controldir", "control-dir"],
  ["bimd", "bind"],
  ["port", "port"],
])("%s was to be %s", (word, meant) => expect(nearest(word, WORDS, word.length / 2)).toBe(meant));

test.each(["", "x", "colour", "tls-cert".repeat(20)])("%j was to be none of them", (word) => {
  expect(nearest(word, WORDS, Math.max(1, word.length / 2))).toBeUndefined();
});
