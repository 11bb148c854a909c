/**
 * Finds the entries of a list that mean the same thing.
 * @param meaning what an entry is about, as words
 * @param where how a place of the list is named
 * @returns a fault for each repetition, which names both places
 */
export const repeats = <T>(
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
      : [`${where(place)}: ${words} is given already (${where(known)}): remove one of them`]
  })
}
