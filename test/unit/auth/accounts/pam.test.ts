import fc from "fast-check";
import { expect, test } from "vitest";
import { decodeStep, encodeTexts } from "../../../../src/auth/accounts/pam.ts";
import { triedWithoutDescriptors } from "../../sessions/without-descriptors.ts";

const hex = (text: string): Buffer => Buffer.from(text.replaceAll(" ", ""), "hex");

test("answers are a length, highest byte first, and their bytes", () => {
  expect(encodeTexts(["é", ""])).toEqual(hex("00000002 c3a9 00000000"));
});

test("a step is all that PAM says up to where it wants answers, or its code", () => {
  const info = "49 00000002 6869";
  const questions = "50 00000003 506c3a 45 00000001 3f";
  expect(decodeStep(hex(`${info}${questions} 41 44`))).toEqual({
    length: 22,
    step: {
      ...{ kind: "question", messages: ["hi"] },
      prompts: [
        { message: "Pl:", echo: false },
        { message: "?", echo: true },
      ],
    },
  });
  expect(decodeStep(hex("58 00000001 21 44 00000007"))).toEqual({
    ...{ length: 11, step: { kind: "done", code: 7 } },
  });
  expect(() => decodeStep(hex("7a 00000000"))).toThrow("another version");
});

test("a step is found when its last byte has come, and not before", () => {
  const text = fc.string({ unit: "grapheme", maxLength: 20 });
  fc.assert(
    fc.property(fc.array(text, { minLength: 1, maxLength: 5 }), (prompts) => {
      const whole = Buffer.concat([
        ...prompts.flatMap((prompt) => [Buffer.from("P"), encodeTexts([prompt])]),
        Buffer.from("A"),
      ]);
      for (let length = 0; length < whole.length; length++)
        expect(decodeStep(whole.subarray(0, length))).toBeUndefined();
      const step = {
        kind: "question",
        prompts: prompts.map((message) => ({ message, echo: false })),
        messages: [],
      };
      expect(decodeStep(whole)).toEqual({ step, length: whole.length });
    }),
    { numRuns: 50 },
  );
});

test("a login that finds no file descriptor fails, and does not end the process that asks PAM", async () => {
  const { href } = new URL("../../../../src/auth/accounts/pam.ts", import.meta.url);
  const before = `
    import { PamProcess } from "${href}";
    const run = async () => {
      try {
        using login = new PamProcess({ username: "nobody" });
        return "started";
      } catch (error) {
        // The system's error is reported after that of the constructor.
        await new Promise(setImmediate);
        return error.message;
      }
    };
  `;
  expect(await triedWithoutDescriptors(before, "run()")).toBe("too many open files to ask PAM,started");
});
