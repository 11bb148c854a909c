// Two strings and no table: a build of a real language leaves this file out.
const plain = 'aeiouAEIOUcn'
const accented = 'àéïöüÀÉÏÖÜçñ'

/**
 * Returns a text that a test can find: accented, in brackets and 40 % longer. Text that a page shows without brackets
 * is not in the catalogue, and a label that is cut has no room for other languages.
 */
export const pseudo = (text: string): string => {
  const letters = [...text].map((letter) => accented[plain.indexOf(letter)] ?? letter)
  return `⟦${letters.join('')}${'·'.repeat(Math.ceil(text.length * 0.4))}⟧`
}
