/**
 * Finds duplicate entries of a list.
 * @param meaning returns the identity of an entry, in words
 * @param where returns the name of a position
 * @returns an error text for each duplicate, with both positions
 */
export const findDuplicates = <T>(
  list: readonly T[],
  meaning: (one: T) => string,
  where: (place: number) => string,
): string[] => {
  const first = new Map<string, number>()
  return list.flatMap((one, place) => {
    const words = meaning(one)
    const known = first.get(words)
    if (known === undefined) first.set(words, place)
    return known === undefined
      ? []
      : [`${where(place)}: ${words} is repeated (first ${where(known)}): remove one of them`]
  })
}
