/** Opt-out keywords by carrier rules and custom (CTIA Messaging Principles, 5.1.3; keywords that large providers
 *  honour). The whole text must be the keyword. YES does not lift an opt-out: it answers too many other questions. */
const stopKeywords: ReadonlySet<string> = new Set([
  'STOP',
  'STOPALL',
  'STOP ALL',
  'UNSUBSCRIBE',
  'CANCEL',
  'END',
  'QUIT',
  'REVOKE',
  'OPTOUT',
  'OPT OUT',
])
const startKeywords: ReadonlySet<string> = new Set(['START', 'UNSTOP', 'OPTIN', 'OPT IN'])
const helpKeywords: ReadonlySet<string> = new Set(['HELP', 'INFO'])

/** A keyword, and its type. */
export type Keyword = { readonly type: 'stop' | 'start' | 'help'; readonly word: string }

/** Returns the keyword that a text is, or null. Ignores letter case, surrounding spaces and punctuation at the end. */
export const keywordOf = (text: string): Keyword | null => {
  // Longer texts cannot be a keyword.
  if (text.length > 40) return null
  const word = text
    .trim()
    .replace(/[.!"'\s]+$|^["'\s]+/g, '')
    .replace(/[\s-]+/g, ' ')
    .toUpperCase()
  if (stopKeywords.has(word)) return { type: 'stop', word }
  if (startKeywords.has(word)) return { type: 'start', word }
  return helpKeywords.has(word) ? { type: 'help', word } : null
}
