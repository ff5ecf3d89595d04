import fc from "fast-check";
import { expect, test } from "vitest";
import { countLines } from "../../../../src/git/worktrees/commit-counts.ts";

/** Commits by number; parents have higher ones, so that their order is one that git may give. */
type Graph = readonly (readonly number[])[];

const graphs = fc
  .integer({ min: 1, max: 30 })
  .chain((size) =>
    fc.tuple(
      ...Array.from({ length: size }, (_, at) =>
        at === size - 1
          ? fc.constant<number[]>([])
          : fc.uniqueArray(fc.integer({ min: at + 1, max: size - 1 }), { maxLength: 3 }),
      ),
    ),
  );

function reachable(graph: Graph, from: number): ReadonlySet<number> {
  const found = new Set<number>();
  const left = [from];
  for (let at = left.pop(); at !== undefined; at = left.pop()) {
    if (found.has(at)) continue;
    found.add(at);
    left.push(...(graph[at] ?? []));
  }
  return found;
}

test("of any history each head has as many commits ahead and behind as can be reached from the one alone", () => {
  fc.assert(
    fc.property(graphs, fc.nat(29), fc.uniqueArray(fc.nat(29), { maxLength: 30 }), (graph, one, others) => {
      const size = graph.length;
      const base = one % size;
      const heads = [...new Set(others.map((other) => other % size))];
      const lines = graph.map((parents, at) => [at, ...parents].join(" "));
      const counts = countLines(lines, `${base}`, heads.map(String));
      const inBase = reachable(graph, base);
      for (const head of heads) {
        const inHead = reachable(graph, head);
        expect(counts.get(`${head}`)).toEqual({
          ahead: [...inHead].filter((at) => !inBase.has(at)).length,
          behind: [...inBase].filter((at) => !inHead.has(at)).length,
        });
      }
    }),
  );
});

test("many more heads than a word has bits are told apart", () => {
  const heads = Array.from({ length: 100 }, (_, at) => `head-${at}`);
  const lines = [...heads.map((head) => `${head} base`), "base"];
  const counts = countLines(lines, "base", heads);
  expect(heads.every((head) => counts.get(head)?.ahead === 1 && counts.get(head)?.behind === 0)).toBe(true);
});
