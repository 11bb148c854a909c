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

/** Returns the known word closest to the given one, for error messages with a suggestion. */
export const closestWord = (word: string, known: readonly string[]): string =>
  known.reduce((best, one) => (levenshtein(word, one) < levenshtein(word, best) ? one : best), known[0] ?? '')
