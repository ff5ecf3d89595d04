// Parses a server's /metrics.
import { ask } from "./http.ts";

export type Sample = {
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly value: number;
};

const SAMPLE = /^([a-z_:][a-z0-9_:]*)(?:\{(.*)\})? (\S+)$/;

export class Scrape {
  readonly text: string;
  /** The type of each metric, by name. */
  readonly types: ReadonlyMap<string, string>;
  readonly samples: readonly Sample[];

  private constructor(text: string) {
    this.text = text;
    const lines = text.split("\n").filter((line) => line !== "");
    const types = lines.flatMap((line) => {
      const [, name, type] = /^# TYPE (\S+) (\S+)$/.exec(line) ?? [];
      return name === undefined || type === undefined ? [] : [[name, type] as const];
    });
    this.types = new Map(types);
    if (this.types.size !== types.length) throw new Error("a metric is there twice");
    this.samples = lines.filter((line) => !line.startsWith("#")).map(parse);
  }

  /** Scrapes a server of this machine by its own socket, which needs no login. */
  static async of(server: string | { readonly url: string; readonly controlDir: string }): Promise<Scrape> {
    const answer =
      typeof server === "string"
        ? await ask(server, "/metrics")
        : await ask(server.url, "/metrics", { socketPath: `${server.controlDir}/server.sock` });
    if (answer.status !== 200) throw new Error(`status ${answer.status}: ${answer.text}`);
    return new Scrape(answer.text);
  }

  get names(): readonly string[] {
    return [...this.types.keys()].sort();
  }

  /** The sum of all samples with that name and at least these labels. Throws if there are none. */
  value(name: string, labels: Readonly<Record<string, string>> = {}): number {
    const found = this.samples.filter(
      (sample) =>
        sample.name === name &&
        Object.entries(labels).every(([label, word]) => sample.labels[label] === word),
    );
    if (found.length === 0) throw new Error(`there is no ${name} ${JSON.stringify(labels)}`);
    return found.reduce((sum, { value }) => sum + value, 0);
  }
}

function parse(line: string): Sample {
  const [, name, all = "", value] = SAMPLE.exec(line) ?? [];
  if (name === undefined) throw new Error(`this is no sample: ${line}`);
  const labels = [...all.matchAll(/([a-z_][a-z0-9_]*)="((?:[^"\\]|\\.)*)"(?:,|$)/g)];
  return {
    name,
    labels: Object.fromEntries(labels.map(([, label = "", word = ""]) => [label, word])),
    value: value === "+Inf" ? Number.POSITIVE_INFINITY : Number(value),
  };
}
