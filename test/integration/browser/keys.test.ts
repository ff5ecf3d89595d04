// Keys in the browser: created, imported, exported, and used for logins (specification 5.3).
import { readFile } from "node:fs/promises";
import { afterAll, beforeAll, expect, test } from "vitest";
import { z } from "zod";
import { KeyFiles, opensslAnswer } from "../../unit/web/keys/key-files.ts";
import { authorize, KeyDesk } from "./key-desk.ts";
import { useStage } from "./stage.ts";

const ACCOUNT = { SERVICE_USERNAME: "ada", SERVICE_PASSWORD: "correct horse" };
const stage = useStage({ flags: ["--enable-ssh-keys"], env: ACCOUNT });
let files: KeyFiles;
beforeAll(async () => {
  files = await KeyFiles.open();
});
afterAll(() => files[Symbol.asyncDispose]());

async function openDesk() {
  const { server, chromium } = stage();
  const driver = await chromium.open(server.url);
  const desk = new KeyDesk(driver);
  await desk.choose();
  return { server, driver, desk, [Symbol.asyncDispose]: () => driver[Symbol.asyncDispose]() };
}

const Entries = z.record(z.string(), z.unknown());

/** The browser's stored keys. */
async function entries({ page }: KeyDesk["driver"]): Promise<readonly unknown[]> {
  const all = Entries.parse(JSON.parse(await page.evaluate("JSON.stringify(localStorage)")));
  const keys = Object.entries(all).filter(([name]) => name.startsWith("ttyhq.key."));
  return keys.map(([, text]) => JSON.parse(String(text)));
}

test("a key is made, with a warning where it gets no password, and logs in over reloads and log outs", async () => {
  await using opened = await openDesk();
  const { server, driver, desk } = opened;
  await driver.page.getByText("There is no key in this browser yet.").waitFor();
  await driver.button("Create a key").click();
  await driver.page.getByText("Without a password the key lies readable in this browser").waitFor();
  await driver.button("Back").click();
  const line = await desk.make("my laptop");
  expect(line).toMatch(/^ssh-ed25519 AAAA[A-Za-z0-9+/]{64} my laptop$/);
  await driver.page.getByText("It has no password: it lies readable in this browser.").waitFor();
  await desk.logIn();
  await driver.page.getByRole("alert").getByText("does not accept this key for that user").waitFor();
  await authorize(server, line);
  await desk.logIn();
  await driver.startShell();
  await driver.enter("echo in-$((1 + 1))");
  await driver.shows("\nin-2\n");
  await driver.page.reload();
  await driver.shows("\nin-2\n");
  await driver.button("Log out").click();
  await driver.page.getByText("You are logged out.").waitFor();
  // With a key no other credential is needed.
  await desk.logIn();
  await driver.connection("open");
});

test("a key with a password is kept encrypted, and opens with that password alone", async () => {
  await using opened = await openDesk();
  const { server, driver, desk } = opened;
  await authorize(server, await desk.make("with a password", "geheim ü"));
  await driver.page.getByText("This browser stores it encrypted with a password.").waitFor();
  const [entry] = await entries(driver);
  expect(entry).toMatchObject({
    name: "with a password",
    secret: {
      kind: "locked",
      kdf: { name: "PBKDF2", hash: "SHA-256", iterations: 600_000, salt: expect.any(String) },
      cipher: { name: "AES-GCM", iv: expect.any(String) },
    },
  });
  await desk.logIn("geheim u");
  const field = driver.page.getByLabel("Password of the key");
  await driver.page.getByText("Wrong password for this key.").waitFor();
  expect(await field.getAttribute("aria-invalid")).toBe("true");
  // Typed on a system that encodes the letter as two characters.
  await desk.logIn("geheim u\u0308");
  await driver.connection("open");
  await driver.page.reload();
  await driver.connection("open");
});

test("the two passwords for a new key have to be the same", async () => {
  await using opened = await openDesk();
  const { driver } = opened;
  await driver.button("Create a key").click();
  await driver.page.getByLabel("Password for the key").fill("one");
  await driver.page.getByLabel("Repeat the password").fill("other");
  await driver.button("Create the key").click();
  await driver.page.getByText("The passwords differ.").waitFor();
  expect(await entries(driver)).toEqual([]);
});

test("an exported key is the key: openssl reads it, and another browser logs in with it", async () => {
  await using opened = await openDesk();
  const { server, driver, desk } = opened;
  const line = await desk.make("traveller", "geheim");
  await authorize(server, line);
  await driver.page.getByText("Export the private key").click();
  await driver.page.getByLabel("Password of the key").fill("wrong");
  await driver.button("Save the file").click();
  await driver.page.getByText("Wrong password for this key.").waitFor();
  await driver.page.getByLabel("Password of the key").fill("geheim");
  const [download] = await Promise.all([
    driver.page.waitForEvent("download"),
    driver.button("Save the file").click(),
  ]);
  expect(download.suggestedFilename()).toBe("traveller.pem");
  const pem = await readFile(await download.path(), "utf8");
  const der = await opensslAnswer(pem, "pkey", "-pubout", "-outform", "DER");
  const [, blob = ""] = line.split(" ");
  expect(Buffer.from(blob, "base64").subarray(-32)).toEqual(Buffer.from(der.subarray(-32)));
  await using elsewhere = await openDesk();
  await elsewhere.desk.paste(pem);
  expect(await elsewhere.desk.line("key")).toBe(`ssh-ed25519 ${blob} key`);
  await elsewhere.desk.logIn();
  await elsewhere.driver.connection("open");
});

test("keys of ssh-keygen and openssl are imported, from a file or as text, and log in", async () => {
  await using opened = await openDesk();
  const { server, driver, desk } = opened;
  const ssh = await files.sshKeygen("-t", "ed25519", "-C", "ada@forge");
  await driver.button("Import a key").click();
  const upload = { name: "id_ed25519", mimeType: "application/octet-stream", buffer: Buffer.from(ssh.file) };
  await driver.page.locator('input[type="file"]').setInputFiles(upload);
  await expect.poll(() => driver.page.getByLabel("Private key").inputValue()).toBe(ssh.file);
  await driver.button("Import").click();
  expect(await desk.line("ada@forge")).toBe(ssh.line);
  await authorize(server, ssh.line);
  await driver.button("Back").click();
  await desk.paste(await files.openssl("genpkey", "-algorithm", "ed25519"), "geheim");
  await desk.line("key");
  await driver.button("Back").click();
  // The latest key is offered until another is chosen.
  expect(await driver.page.getByLabel("Password of the key").count()).toBe(1);
  await driver.page.getByRole("combobox", { name: "Key" }).selectOption({ label: "ada@forge" });
  await desk.logIn();
  await driver.connection("open");
});

test("an invalid import is refused beside the field, and the input stays", async () => {
  await using opened = await openDesk();
  const { driver, desk } = opened;
  const locked = await files.sshKeygen("-t", "ed25519", "-N", "secret");
  const whole = await files.sshKeygen("-t", "ed25519");
  const field = driver.page.getByLabel("Private key");
  await desk.paste(locked.file);
  await driver.page.getByText("This key is encrypted: take its password away in a copy").waitFor();
  expect(await field.getAttribute("aria-invalid")).toBe("true");
  expect(await field.inputValue()).toBe(locked.file);
  const refusals = [
    [
      (await files.sshKeygen("-t", "rsa", "-b", "2048")).file,
      "This is an RSA key: only Ed25519 keys work here",
    ],
    [whole.line, "This is a public key"],
    [whole.file.slice(0, 150), "The key is truncated"],
    [whole.file.replace("b3Bl", "b3!l"), "The key is malformed"],
    ["hello", "This is not a key file"],
    ["", "No key given"],
  ] as const;
  for (const [text, words] of refusals) {
    await field.fill(text);
    await driver.button("Import").click();
    await driver.page.getByRole("alert").getByText(words).waitFor();
  }
  expect(await entries(driver)).toEqual([]);
  await field.fill(whole.file);
  await driver.page.getByLabel("Name").fill("at last\tmine");
  await driver.button("Import").click();
  await desk.line("at last mine");
  await driver.button("Back").click();
  await desk.paste(whole.file);
  await driver.page.getByText("This browser already has this key, named “at last mine”.").waitFor();
});

test("a key is removed after a question, in every tab, and what cannot be read is left alone", async () => {
  await using opened = await openDesk();
  const { server, driver, desk } = opened;
  await driver.page.evaluate(`localStorage.setItem("ttyhq.key.AAAA", '{"name":"damaged"}')`);
  await desk.make("first");
  await driver.button("Back").click();
  await desk.make("second");
  const tab = await driver.another(server.url);
  const select = tab.page.getByRole("combobox", { name: "Key" });
  await select.waitFor();
  expect(await select.locator("option").allTextContents()).toEqual(["first", "second"]);
  await driver.page.bringToFront();
  await driver.button("Remove from this browser").click();
  await driver.button("Cancel").click();
  await driver.button("Remove from this browser").click();
  await driver.page.getByRole("dialog").getByRole("button", { name: "Remove" }).click();
  await driver.button("About this key").click();
  await desk.line("first");
  await expect.poll(() => select.locator("option").allTextContents()).toEqual(["first"]);
  expect(await driver.page.evaluate(`localStorage.getItem("ttyhq.key.AAAA")`)).toBe('{"name":"damaged"}');
});

test("the public key is copied by a button", async () => {
  const { server, chromium } = stage();
  await using driver = await chromium.open(server.url, {
    permissions: ["clipboard-read", "clipboard-write"],
  });
  const desk = new KeyDesk(driver);
  await desk.choose();
  const line = await desk.make("copied");
  await driver.button("Copy the public key").click();
  await driver.button("Copied").waitFor();
  expect(await driver.page.evaluate("navigator.clipboard.readText()")).toBe(line);
});
