// A time that is promised, measured on a machine that does other things, too.

export const MAX_PERFORMANCES = 5;

/**
 * The best of up to five performances, which tell how many ms they took: a busy machine adds to a time and takes nothing
 * from it. The first that keeps the promise is the last.
 */
export async function bestTime(promisedMs: number, perform: () => Promise<number>): Promise<number> {
  let best = Number.POSITIVE_INFINITY;
  for (let count = 0; count < MAX_PERFORMANCES && best >= promisedMs; count++) {
    best = Math.min(best, await perform());
  }
  return best;
}
