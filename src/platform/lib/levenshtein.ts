/** Edit distance (Levenshtein). */
const levenshtein = (a: string, b: string): number => {
  let row = Array.from({ length: b.length + 1 }, (_, i) => i)
  for (let i = 1; i <= a.length; i++) {
    const next = [i]
    for (let j = 1; j <= b.length; j++) {
      const change = (row[j - 1] ?? 0) + (a[i - 1] === b[j - 1] ? 0 : 1)
      next.push(Math.min(change, (row[j] ?? 0) + 1, (next[j - 1] ?? 0) + 1))
    }
    row = next
  }
  return row[b.length] ?? 0
}

/** Returns the known word that a misspelt one means, for error messages with a suggestion; null if none is near. */
export const closestWord = (word: string, known: readonly string[]): string | null => {
  const best = known.reduce<{ one: string; distance: number } | null>((nearest, one) => {
    const distance = levenshtein(word.toLowerCase(), one.toLowerCase())
    return nearest === null || distance < nearest.distance ? { one, distance } : nearest
  }, null)
  // A third of the letters may be wrong: beyond that, chance finds as much.
  if (best && best.distance <= Math.max(2, Math.floor(Math.max(word.length, best.one.length) / 3))) return best.one
  return (word.length >= 3 && known.find((one) => one.startsWith(word))) || null
}

/** Returns `; did you mean …`, or nothing if no known word is near. */
export const suggestion = (word: string, known: readonly string[], show = (one: string): string => one): string => {
  const closest = closestWord(word, known)
  return closest === null ? '' : `; did you mean ${show(closest)}?`
}
