import { expect, test } from "vitest";
import { fakeServer } from "../fake-server.ts";
import { ran } from "../run-cli.ts";

test("a revocation that fails leaves those before it in the JSON", async () => {
  const refused = { error: "no join token two", code: "join_token_not_found", details: {} };
  await using server = await fakeServer((request) =>
    request.endsWith("/one") ? { status: 200, body: { success: true } } : { status: 404, body: refused },
  );
  const argv = ["join-token", "revoke", "--json", "one", "two", "--control-dir", server.controlDir];
  expect(await ran(argv)).toEqual({
    exitCode: 1,
    stdout: '[{"success":true}]\n',
    stderr: "ttyhq: no join token two\n",
  });
});
