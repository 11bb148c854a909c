import { matchesGlob } from 'node:path'

// `npm test` is the fast form: the main test of every promise. The full form has what this table lists, too, and the
// single tests that `fullForm` of test/needs.ts marks.

/** Files that only the full form runs, with the reason. */
export const fullOnly: readonly { readonly why: string; readonly files: readonly string[] }[] = [
  { why: 'types, lint and dead code: npm run check', files: ['test/checks.test.ts'] },
  { why: 'Firefox', files: ['test/console/firefox.test.ts', 'test/sdk/firefox.test.ts'] },
  { why: 'Swagger UI in a browser', files: ['test/pages.test.ts'] },
  { why: 'packages and images', files: ['test/deploy/*.test.ts', 'test/client/package.test.ts'] },
]

/** Returns why only the full form runs a file; null for a file of the fast form. */
export const whyFullOnly = (file: string): string | null =>
  fullOnly.find(({ files }) => files.some((pattern) => matchesGlob(file, pattern)))?.why ?? null

/** The start of the reason with which the fast form skips a single test of the full form. */
export const fullFormMark = 'full form: '
