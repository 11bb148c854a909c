/** Yields batches of a list, with the index of the first item of each. */
export function* batchesOf<T>(
  list: readonly T[],
  size: number,
): Generator<{ readonly from: number; readonly items: T[] }> {
  for (let from = 0; from < list.length; from += size) yield { from, items: list.slice(from, from + size) }
}
