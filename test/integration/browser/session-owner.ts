import type { PageDriver } from "./page-driver.ts";
import type { Stage } from "./stage.ts";

/** For the environment of the stage's server. */
export const ACCOUNT = { SERVICE_USERNAME: "ada", SERVICE_PASSWORD: "correct horse" };

/** The owner of a session, in front of its shell. */
export async function openOwner({ server, chromium }: Stage): Promise<PageDriver> {
  const owner = await chromium.open(server.url);
  await owner.page.getByLabel("Password").fill(ACCOUNT.SERVICE_PASSWORD);
  await owner.button("Log in").click();
  await owner.startShell();
  return owner;
}
