/** Parts of a list, and the place of the first item of each. */
export function* slicesOf<T>(
  list: readonly T[],
  size: number,
): Generator<{ readonly from: number; readonly items: T[] }> {
  for (let from = 0; from < list.length; from += size) yield { from, items: list.slice(from, from + size) }
}
