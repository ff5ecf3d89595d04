import { histogram } from "../lib/data/histogram.ts";
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
  readonly durations = histogram("http_request_duration_seconds", "Time until an answer began.", {
    labels: ["endpoint"],
  });

  passed({ endpoint = "other", method, status, tookMs }: Passage): void {
    const kind = status === undefined ? "aborted" : `${Math.floor(status / 100)}xx`;
    this.requests.add(endpoint, METHODS.has(method) ? method : "other", kind);
    this.durations.observe({ endpoint }, tookMs / 1000);
  }
}
