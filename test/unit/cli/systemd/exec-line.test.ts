import * as fc from "fast-check";
import { expect, test } from "vitest";
import { execLine, execWords } from "../../../../src/cli/systemd/unit-file.ts";

test("plain words stay as they are, and systemd expands nothing in the others", () => {
  expect(execLine(["/usr/bin/ttyhq", "serve", "--port", "4020", "--bind", "[::1]"])).toBe(
    '/usr/bin/ttyhq serve --port 4020 --bind "[::1]"',
  );
  expect(execLine(["a b", "100%", "$HOME", 'say "hi"', "back\\slash", "two\nlines", ""])).toBe(
    '"a b" "100%%" "$$HOME" "say \\"hi\\"" "back\\\\slash" "two\\nlines" ""',
  );
  expect(execLine([";", "é"])).toBe('";" "é"');
});

test("a line is parsed into the words that it was made from", () =>
  fc.assert(
    fc.property(fc.array(fc.string({ unit: "binary" })), (words) => {
      const line = execLine(words);
      expect(line).not.toMatch(/[\n\r]/);
      expect(execWords(line)).toEqual(words);
    }),
    { numRuns: 1_000 },
  ));
