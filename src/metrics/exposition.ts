// The text format of Prometheus, version 0.0.4.

/** Words from small closed sets: never an id. */
export type Labels = Readonly<Record<string, string>>;
export type MetricValue = number | boolean | Iterable<readonly [Labels, number]>;

type Family = { readonly name: string; readonly help: string };

export function valueLines({ name, help }: Family, kind: "gauge" | "counter", value: MetricValue): string {
  const samples = typeof value === "object" ? [...value] : [[{}, Number(value)] as const];
  const text = help.replaceAll("\\", "\\\\").replaceAll("\n", "\\n");
  const head = `# HELP ${name} ${text}\n# TYPE ${name} ${kind}\n`;
  return head + samples.map(([labels, value]) => sample(name, labels, value)).join("");
}

export function familiesBeside(text: string, names: ReadonlySet<string>): string {
  let isKept = true;
  const kept = text.split("\n").filter((line) => {
    const name = /^# (?:HELP|TYPE) (\S+)/.exec(line)?.[1];
    if (name !== undefined) isKept = !names.has(name);
    return isKept && line !== "";
  });
  return kept.map((line) => `${line}\n`).join("");
}

export function familiesOf(text: string): readonly string[] {
  return [...text.matchAll(/^# TYPE (\S+)/gm)].map(([, name = ""]) => name);
}

function sample(name: string, labels: Labels, value: number): string {
  const pairs = Object.entries(labels).map(([label, word]) => `${label}="${escaped(word)}"`);
  const all = pairs.length === 0 ? "" : `{${pairs.join(",")}}`;
  return `${name}${all} ${number(value)}\n`;
}

function number(value: number): string {
  if (Number.isFinite(value)) return `${value}`;
  return Number.isNaN(value) ? "NaN" : value > 0 ? "+Inf" : "-Inf";
}

function escaped(word: string): string {
  return word.replaceAll("\\", "\\\\").replaceAll("\n", "\\n").replaceAll('"', '\\"');
}
