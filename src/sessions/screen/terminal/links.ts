/** Characters of all links of one terminal; further links are plain text until the terminal is redrawn. */
const MAX_TOTAL_LENGTH = 1024 * 1024;
/** Longer links are ignored, as in other terminals. */
const MAX_LINK_LENGTH = 2_400;

/** The links (OSC 8) of one terminal, instead of those of xterm.js: it moves a marker for each link with every line. */
export class ScreenLinks {
  readonly #ids = new Map<string, number>();
  readonly #links: string[] = [];
  #length = 0;

  /** The id for the data of an OSC 8; 0 ends a link, undefined changes nothing. */
  idOf(link: string): number | undefined {
    const separator = link.indexOf(";");
    if (separator === -1) return undefined;
    const hasTarget = separator + 1 < link.length;
    if (!hasTarget) return link.slice(0, separator).trim() === "" ? 0 : undefined;
    const known = this.#ids.get(link);
    if (known !== undefined) return known;
    if (link.length > MAX_LINK_LENGTH || this.isFull) return 0;
    this.#length += link.length;
    this.#links.push(link);
    this.#ids.set(link, this.#links.length);
    return this.#links.length;
  }

  /** Most links are no longer visible; a drawing of the terminal has only the visible ones. */
  get isFull(): boolean {
    return this.#length >= MAX_TOTAL_LENGTH;
  }

  /** The sequence that begins the link with this id, or ends one for 0. */
  sequence(id: number): string {
    return `\x1b]8;${this.#links[id - 1] ?? ";"}\x1b\\`;
  }
}
