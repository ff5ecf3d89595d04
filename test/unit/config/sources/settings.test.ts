import { expect, test } from "vitest";
import { examineConfig } from "../../../../src/config/config.ts";
import { optionsFor } from "../../../../src/config/options/options.ts";
import { sourceWords } from "../../../../src/config/sources/settings.ts";
import { type Env, input } from "../command-line.ts";
import { configFile } from "../yaml-file.ts";

function settings(commandLine: string, env: Env = {}, file = "") {
  const { settings: all } = examineConfig({ ...input(commandLine, env), file: configFile(file) });
  return new Map(all.map(({ name, source, ...what }) => [name, { ...what, from: sourceWords(source) }]));
}

test("every option of a server is listed with its source", () => {
  const all = settings(
    "--port 1 --allow-user ada --allow-user bob",
    { TTYHQ_BIND: "::1" },
    "debug: yes\nport: 2\n",
  );
  expect([...all.keys()]).toEqual(optionsFor("server").map(({ name }) => name));
  expect(all.get("port")).toEqual({ value: "1", from: "--port" });
  expect(all.get("allow-user")).toEqual({ value: ["ada", "bob"], from: "--allow-user" });
  expect(all.get("bind")).toEqual({ value: "::1", from: "TTYHQ_BIND" });
  expect(all.get("debug")).toEqual({ value: true, from: "config.yaml:1:8" });
  expect(all.get("max-recording-size")).toEqual({ value: "256MiB", from: "default" });
  expect(all.get("name")).toEqual({ value: undefined, from: "default" });
});

test("a path is shown as an absolute one", () => {
  const all = settings("--tls-cert a.pem", {}, "control-dir: t\n");
  expect(all.get("tls-cert")).toEqual({ value: "/work/a.pem", from: "--tls-cert" });
  expect(all.get("control-dir")).toEqual({ value: "/work/t", from: "config.yaml:1:14" });
  expect(settings("").get("control-dir")).toEqual({ value: "/home/me/.ttyhq", from: "default" });
});

test("a secret is shown by its source and file only", () => {
  const all = settings(
    "--password hunter2 --hq-password-file jwt",
    { SERVICE_PASSWORD: "hunter2" },
    "jwt-secret: hunter2\n",
  );
  expect(all.get("password")).toEqual({ value: undefined, isSet: true, from: "--password" });
  expect(all.get("hq-password")).toEqual({
    ...{ value: undefined, isSet: true, secretFile: "/work/jwt", from: "--hq-password-file" },
  });
  expect(all.get("service-password")).toEqual({ value: undefined, isSet: true, from: "SERVICE_PASSWORD" });
  expect(all.get("jwt-secret")).toEqual({ value: undefined, isSet: true, from: "config.yaml:1:13" });
  expect(all.get("registry-url")).toEqual({ value: undefined, isSet: false, from: "default" });
  expect(JSON.stringify([...all])).not.toContain("hunter2");
});

test("an implied value is shown with the option that implies it", () => {
  const all = settings("--disallow-user-password", { TTYHQ_ENABLE_PROXY_SERVE: "1" }, "hq-url: https://hq\n");
  expect(all.get("enable-ssh-keys")).toEqual({ value: true, from: "because of --disallow-user-password" });
  expect(all.get("bind")).toEqual({ value: "127.0.0.1", from: "because of TTYHQ_ENABLE_PROXY_SERVE" });
  expect(all.get("name")).toEqual({ value: "box", from: "because of the name of this machine" });
});

test("problems and warnings are listed as well", () => {
  const { problems, warnings } = examineConfig(input("--port x --no-auth"));
  expect(problems).toEqual(['--port: must be a whole number from 0 to 65535, not "x"']);
  expect(warnings).toHaveLength(1);
});
