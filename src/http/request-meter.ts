import { Histogram } from "../lib/data/histogram.ts";
import { Tally } from "../lib/data/tally.ts";

const METHODS: ReadonlySet<string> = new Set(["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"]);

/** What became of a request. */
export type Passage = {
  /** The path of its endpoint as the table has it, with the names of its parameters; undefined for all else. */
  readonly endpoint: string | undefined;
  readonly method: string;
  /** Undefined where the client had gone before there was an answer. */
  readonly status: number | undefined;
  /** Until its answer began. */
  readonly tookMs: number;
};

/** Requests of all doors of a server, by kinds of which there are few. */
export class RequestMeter {
  readonly requests = new Tally("endpoint", "method", "status");
  readonly limited = new Tally("limit").expecting(["api"], ["sessions"]);
  readonly #durations = new Map<string, Histogram>();

  /** Seconds until the answer began, by endpoint. */
  *durations(): Generator<readonly [Readonly<Record<string, string>>, Histogram]> {
    for (const [endpoint, histogram] of this.#durations) yield [{ endpoint }, histogram];
  }

  passed({ endpoint = "other", method, status, tookMs }: Passage): void {
    const kind = status === undefined ? "aborted" : `${Math.floor(status / 100)}xx`;
    this.requests.add(endpoint, METHODS.has(method) ? method : "other", kind);
    this.#durationsOf(endpoint).observe(tookMs / 1000);
  }

  /** As many as there are endpoints. */
  #durationsOf(endpoint: string): Histogram {
    const known = this.#durations.get(endpoint);
    if (known !== undefined) return known;
    const histogram = new Histogram();
    this.#durations.set(endpoint, histogram);
    return histogram;
  }
}
