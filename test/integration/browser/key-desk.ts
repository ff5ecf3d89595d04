// A person's use of SSH keys on the login page.

import { appendFile, mkdir } from "node:fs/promises";
import { join } from "node:path";
import type { TestServer } from "../harness/test-server.ts";
import type { PageDriver } from "./page-driver.ts";

export class KeyDesk {
  readonly driver: PageDriver;

  constructor(driver: PageDriver) {
    this.driver = driver;
  }

  /** If passwords log in, too: the other way. */
  async choose(): Promise<void> {
    await this.driver.page.getByLabel("With a key").check();
  }

  /** Creates a key and shows it; returns its line of authorized_keys. Without a password it is unencrypted. */
  async make(name: string, password = ""): Promise<string> {
    await this.driver.button("Create a key").click();
    await this.driver.page.getByLabel("Name").fill(name);
    await this.#password(password);
    await this.driver.button("Create the key").click();
    return await this.line(name);
  }

  /** Pastes a file and imports it; `line` returns the result. */
  async paste(file: string, password = ""): Promise<void> {
    await this.driver.button("Import a key").click();
    await this.driver.page.getByLabel("Private key").fill(file);
    await this.#password(password);
    await this.driver.button("Import").click();
  }

  /** Waits until the key of that name is shown; returns its line. */
  async line(name: string): Promise<string> {
    await this.driver.page.getByRole("heading", { name, exact: true }).waitFor();
    return (await this.driver.page.locator(".command pre").textContent()) ?? "";
  }

  /** From a key's details to the form, and logs in. */
  async logIn(password = ""): Promise<void> {
    const { driver } = this;
    const back = driver.button("Back");
    if (await back.isVisible()) await back.click();
    if (password !== "") await driver.page.getByLabel("Password of the key").fill(password);
    await driver.button("Log in").click();
  }

  async #password(password: string): Promise<void> {
    if (password === "") return;
    await this.driver.page.getByLabel("Password for the key").fill(password);
    await this.driver.page.getByLabel("Repeat the password").fill(password);
  }
}

/** Lets the server's own user log in with these keys, too. */
export async function authorize(server: TestServer, ...lines: readonly string[]): Promise<void> {
  const folder = join(server.controlDir, ".ssh");
  await mkdir(folder, { recursive: true, mode: 0o700 });
  await appendFile(join(folder, "authorized_keys"), `${lines.join("\n")}\n`, { mode: 0o600 });
}
