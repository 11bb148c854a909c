// Canned replies and mentions: what is typed before the cursor, and what takes its place. Pure.

/** A word at the cursor that begins with a sign, such as `/tha` or `@ad`. */
export type Trigger = { readonly sign: '/' | '@'; readonly text: string; readonly start: number; readonly end: number }

/** Finds the word that is being typed. The sign counts at the start of a word only: `and/or` and addresses are text. */
export const triggerAt = (text: string, cursor: number, signs: readonly string[]): Trigger | null => {
  const found = /(?:^|\s)([/@])([^\s/@]{0,40})$/u.exec(text.slice(0, cursor))
  const [, sign, word = ''] = found ?? []
  if ((sign !== '/' && sign !== '@') || !signs.includes(sign)) return null
  return { sign, text: word, start: cursor - word.length - 1, end: cursor }
}

/** Puts a text in the place of the trigger. Returns the new text and the place of the cursor behind it. */
export const replaceTrigger = (
  text: string,
  { start, end }: Trigger,
  replacement: string,
): { readonly text: string; readonly cursor: number } => ({
  text: text.slice(0, start) + replacement + text.slice(end),
  cursor: start + replacement.length,
})

const fold = (text: string): string => text.normalize('NFKD').replace(/\p{M}/gu, '').toLowerCase()

/** Choices whose names begin with what was typed, then those that contain it. */
export const ranked = <T>(
  choices: readonly T[],
  typed: string,
  namesOf: (choice: T) => readonly string[],
): readonly T[] => {
  const query = fold(typed)
  const rank = (choice: T): number => {
    const names = namesOf(choice).map(fold)
    if (names.some((name) => name.startsWith(query))) return 0
    return names.some((name) => name.includes(query)) ? 1 : 2
  }
  return choices
    .map((choice) => ({ choice, rank: rank(choice) }))
    .filter(({ rank }) => rank < 2)
    .sort((a, b) => a.rank - b.rank)
    .map(({ choice }) => choice)
}
