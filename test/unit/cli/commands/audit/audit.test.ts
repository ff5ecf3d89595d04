import { rm } from "node:fs/promises";
import { expect, test } from "vitest";
import { LogPlace } from "../../../audit/log-place.ts";
import { ran } from "../../run-cli.ts";

test("audit verify exits with 0 for an unchanged log", async () => {
  await using place = await LogPlace.make();
  await place.write(["ada", "bob"]);
  expect(await ran(["audit", "verify", "--control-dir", place.directory])).toEqual({
    exitCode: 0,
    stdout: "sequences 1 to 2 are unbroken in 1 file; sealed up to 2\n",
    stderr: "",
  });
});

test("audit verify exits with 1 and names file, line and reason", async () => {
  await using place = await LogPlace.make();
  await place.write(["ada", "bob", "cid"]);
  await place.change((lines) => lines.slice(0, 2));
  const args = ["audit", "verify", "--control-dir", place.directory];
  const reason = "ends with sequence 2: sequence 3 is missing after it";
  expect(await ran(args)).toEqual({ exitCode: 1, stdout: `${place.path}:2: ${reason}\n`, stderr: "" });
  const { exitCode, stdout } = await ran([...args, "--json"]);
  expect(exitCode).toBe(1);
  expect(JSON.parse(stdout)).toMatchObject({
    last: 2,
    sealed: 3,
    problem: { file: place.path, line: 2, reason },
  });
});

test("audit verify of copies checks only the chain, and reports that", async () => {
  await using place = await LogPlace.make();
  await place.write(["ada", "bob", "cid"]);
  await place.change((lines) => lines.slice(0, 2));
  const copies = await ran(["audit", "verify", place.path]);
  expect(copies).toMatchObject({
    exitCode: 0,
    stdout: expect.stringMatching(/not checked against a sealed head/),
  });
  const sealed = await ran(["audit", "verify", place.path, "--control-dir", place.directory]);
  expect(sealed).toMatchObject({ exitCode: 1, stdout: expect.stringMatching(/missing after it/) });
});

test("audit verify names a file that cannot be read", async () => {
  const stderr = "ttyhq: ENOENT: no such file or directory, open '/no/such/audit.log'\n";
  expect(await ran(["audit", "verify", "/no/such/audit.log"])).toEqual({ exitCode: 1, stdout: "", stderr });
});

test("audit verify rejects a missing or foreign sealed head", async () => {
  await using place = await LogPlace.make();
  await place.write(["ada"]);
  const args = ["audit", "verify", "--control-dir", place.directory];
  await rm(place.files.key);
  expect(await ran(args)).toMatchObject({
    exitCode: 1,
    stdout: expect.stringMatching(/was not sealed with/),
  });
  await rm(place.files.head);
  expect(await ran(args)).toMatchObject({ exitCode: 1, stdout: expect.stringMatching(/no sealed head/) });
  await rm(place.path);
  expect(await ran(args)).toMatchObject({ exitCode: 1, stderr: expect.stringMatching(/no audit log at/) });
});
