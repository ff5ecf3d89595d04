// The viewers of a session and who is typing, seen by its owner and by a guest.
import { expect, test } from "vitest";
import type { PageDriver } from "./page-driver.ts";
import { ACCOUNT, openOwner } from "./session-owner.ts";
import { useStage } from "./stage.ts";

const stage = useStage({ env: ACCOUNT, flags: [] });

/** A link whose guests may type; the dialog is closed. */
async function shareTyping(owner: PageDriver): Promise<string> {
  await owner.button("More").click();
  await owner.button("Share…").click();
  await owner.page.getByLabel("Can type").check();
  await owner.button("Create a link").click();
  const link = await owner.page.getByRole("textbox", { name: "The link" }).inputValue();
  await owner.button("Close").click();
  await owner.page.getByRole("dialog").waitFor({ state: "detached" });
  return link;
}

test("the owner sees who watches and who types, and revokes typing of a guest, who keeps watching", async () => {
  const { chromium } = stage();
  await using owner = await openOwner(stage());
  const presence = (page: PageDriver) => page.page.getByRole("button", { name: /^Watching: / });
  const link = await shareTyping(owner);
  await using guest = await chromium.open(link, { viewport: { width: 700, height: 500 } });
  await guest.phase("running");
  await owner.page.getByRole("button", { name: /^Watching: you, Guest \d+/ }).waitFor();
  await guest.page.getByLabel("Your name").fill("  Ana\u202e ");
  await guest.button("Save").click();
  await guest.page.getByRole("button", { name: /^Watching: you, User/ }).waitFor();
  await owner.page.getByRole("button", { name: /^Watching: you, Ana \(guest\)/ }).waitFor();
  // It ends some seconds later.
  const typing = owner.page.getByRole("button", { name: /Typing: Ana \(guest\)$/ }).waitFor();
  await guest.page.keyboard.type("echo from-$((1 + 1))\n");
  await Promise.all([typing, owner.shows("\nfrom-2\n")]);
  const size = await owner.size();
  // Neither a bigger window nor the button resizes the session.
  await guest.page.setViewportSize({ width: 900, height: 640 });
  expect(await guest.page.getByText("Fit to my window").count()).toBe(0);
  await presence(owner).click();
  const row = owner.page.getByRole("region", { name: "Who watches" }).getByRole("listitem");
  await row.filter({ hasText: "Ana (guest)" }).getByRole("button", { name: "Stop typing" }).click();
  await guest.phase("watching");
  await guest.page.getByText("shared with you to watch").waitFor();
  await row.filter({ hasText: "only watches" }).waitFor();
  await owner.page.keyboard.press("Escape");
  await guest.type("typed by a guest");
  await owner.page.keyboard.type("echo after-$((2 + 2))\n");
  await guest.shows("\nafter-4\n");
  expect(await owner.text()).not.toContain("typed by a guest");
  expect(await owner.size()).toEqual(size);
  await owner.button("More").click();
  await owner.button("Share…").click();
  const links = owner.page.getByRole("region", { name: "Links" }).getByRole("listitem");
  await links
    .filter({ hasText: "watching: Ana (guest)" })
    .getByRole("button", { name: "Allow typing" })
    .click();
  await guest.phase("running");
  await owner.button("Close").click();
  await guest.enter("echo again-$((3 + 3))");
  await owner.shows("\nagain-6\n");
  await guest.page.close();
  await presence(owner).waitFor({ state: "detached" });
});
