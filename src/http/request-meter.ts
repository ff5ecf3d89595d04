import { histogram } from "../lib/data/histogram.ts";
import { Tally } from "../lib/data/tally.ts";

const METHODS: ReadonlySet<string> = new Set(["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"]);

export type Passage = {
  /** The endpoint's path with parameter names; undefined for other requests. */
  readonly endpoint: string | undefined;
  readonly method: string;
  /** Undefined if the client disconnected before the answer. */
  readonly status: number | undefined;
  /** Until the answer was ready. */
  readonly tookMs: number;
};

/** Request metrics of all listeners, with few labels. */
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
