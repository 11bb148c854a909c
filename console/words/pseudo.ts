const accents = new Map(
  [...'aàeéiïoöuüAÀEÉIÏOÖUÜcçnñ'.matchAll(/(.)(.)/gu)].map(([, plain = '', accented = '']) => [plain, accented]),
)

/**
 * Returns a text that a test can find: accented, in brackets and 40 % longer. Text that a page shows without brackets
 * is not in the catalogue, and a label that is cut has no room for other languages.
 */
export const pseudo = (text: string): string => {
  const accented = [...text].map((letter) => accents.get(letter) ?? letter).join('')
  return `⟦${accented}${'·'.repeat(Math.ceil(text.length * 0.4))}⟧`
}
