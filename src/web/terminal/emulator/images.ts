import type { ImageAddon } from "@xterm/addon-image";
import type { Terminal } from "@xterm/xterm";

/** Pixels of one image; larger ones are not drawn. */
const MAX_PIXELS = 8_000_000;
/** For all images of a terminal, in MB; the oldest are dropped first. */
const MAX_STORED_MB = 64;
/** Of the data of one image. */
const MAX_DATA_BYTES = 20_000_000;

type TerminalImagesOptions = {
  readonly terminal: Terminal;
  /** The addon's handlers run before all others. */
  readonly onLoaded: () => void;
  readonly onFailed: (error: unknown) => void;
};

/** Sixel and iTerm2 images in a terminal; the code loads when they are switched on. */
export class TerminalImages implements Disposable {
  readonly #options: TerminalImagesOptions;
  #isOn = false;
  #addon: ImageAddon | undefined;

  constructor(options: TerminalImagesOptions) {
    this.#options = options;
  }

  async switch(isOn: boolean): Promise<void> {
    if (isOn === this.#isOn) return;
    this.#isOn = isOn;
    if (isOn) await this.#load();
    else this.#unload();
  }

  [Symbol.dispose](): void {
    this.#isOn = false;
    this.#unload();
  }

  async #load(): Promise<void> {
    const { terminal, onLoaded, onFailed } = this.#options;
    try {
      const { ImageAddon } = await import("@xterm/addon-image");
      if (!this.#isOn || this.#addon !== undefined) return;
      this.#addon = new ImageAddon({
        // These handlers answer queries that query-gate.ts does not know.
        enableSizeReports: false,
        ...{ pixelLimit: MAX_PIXELS, storageLimit: MAX_STORED_MB },
        ...{ sixelSizeLimit: MAX_DATA_BYTES, iipSizeLimit: MAX_DATA_BYTES },
      });
      terminal.loadAddon(this.#addon);
      onLoaded();
    } catch (error) {
      this.#isOn = false;
      onFailed(error);
    }
  }

  #unload(): void {
    this.#addon?.dispose();
    this.#addon = undefined;
  }
}
