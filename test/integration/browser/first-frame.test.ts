// What a person types as soon as something is drawn goes there.
import { expect, test } from "vitest";
import { ACCOUNT } from "./session-owner.ts";
import { useStage } from "./stage.ts";

const stage = useStage({ env: ACCOUNT, flags: [] });

/** Runs `script` before the browser draws the first element that matches `selector`. */
function whenDrawn(selector: string, script: string): string {
  return `new MutationObserver((_, observer) => {
    const drawn = document.querySelector(${JSON.stringify(selector)});
    if (drawn === null) return;
    observer.disconnect();
    ${script}
  }).observe(document, { childList: true, subtree: true });`;
}

function press(code: string, modifiers: string): string {
  const init = `{ code: "${code}", key: "${code}", bubbles: true, ${modifiers} }`;
  return `document.activeElement.dispatchEvent(new KeyboardEvent("keydown", ${init}));`;
}

test("a form and a terminal have the focus when they are drawn", async () => {
  const { server, chromium } = stage();
  await using page = await chromium.open("about:blank");
  const selectors = ["input[name=password]", "input[name=command]", ".terminal-pane"];
  const note = "document.focused = [...(document.focused ?? []), drawn.contains(document.activeElement)];";
  for (const selector of selectors) await page.page.addInitScript(whenDrawn(selector, note));
  await page.page.goto(server.url);
  await page.page.getByLabel("Password").fill(ACCOUNT.SERVICE_PASSWORD);
  await page.button("Log in").click();
  await page.startShell();
  expect(await page.page.evaluate("document.focused")).toEqual(selectors.map(() => true));
});

test("the page takes its keys when it is drawn, and a menu takes Escape", async () => {
  const { server, chromium } = stage();
  await using page = await chromium.open("about:blank");
  const find = press("KeyK", "ctrlKey: true, shiftKey: true");
  await page.page.addInitScript(whenDrawn(".workspace", find));
  await page.page.addInitScript(whenDrawn(".menu", press("Escape", "")));
  await page.page.goto(server.url);
  await page.page.getByLabel("Password").fill(ACCOUNT.SERVICE_PASSWORD);
  await page.button("Log in").click();
  await page.page.getByRole("combobox", { name: "Find a session" }).press("Escape");
  await page.startShell();
  await page.button("More").click();
  await page.page.locator(".menu").waitFor({ state: "detached" });
});
