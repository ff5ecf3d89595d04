import { z } from "zod";
import type { Chromium } from "./chromium.ts";
import type { PageDriver } from "./page-driver.ts";

const Counts = z.array(z.tuple([z.string(), z.number()]));

/**
 * The number of pixels of each colour ("red,green,blue") in a window. A blank page decodes the picture: Node cannot.
 */
export async function pixelsOf(
  chromium: Chromium,
  { page }: PageDriver,
): Promise<ReadonlyMap<string, number>> {
  const png = (await page.screenshot()).toString("base64");
  await using blank = await chromium.open("about:blank");
  const counts = await blank.page.evaluate(`(async () => {
    const bytes = Uint8Array.fromBase64("${png}");
    const image = await createImageBitmap(new Blob([bytes]));
    const context = new OffscreenCanvas(image.width, image.height).getContext("2d");
    context.drawImage(image, 0, 0);
    const { data } = context.getImageData(0, 0, image.width, image.height);
    const counts = {};
    for (let at = 0; at < data.length; at += 4) {
      const color = data[at] + "," + data[at + 1] + "," + data[at + 2];
      counts[color] = (counts[color] ?? 0) + 1;
    }
    return Object.entries(counts);
  })()`);
  return new Map(Counts.parse(counts));
}
