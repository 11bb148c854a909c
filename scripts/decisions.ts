import { globSync, readFileSync, writeFileSync } from 'node:fs'
import { basename, join } from 'node:path'

const folder = join(import.meta.dirname, '../docs/decisions')

/** The index of the decisions. */
export const indexFile = join(folder, 'README.md')

/** @throws Error when a decision lacks its title, status or date */
const row = (file: string): string => {
  const text = readFileSync(file, 'utf8')
  const [, number, title] = /^# (\d{4}): (.+)$/m.exec(text) ?? []
  const [, status, date] = /^\*\*Status\.\*\* (.+?)\. \*\*Date\.\*\* (\d{4}-\d\d-\d\d)\.$/m.exec(text) ?? []
  if (!title || !date) throw new Error(`${basename(file)} needs "# NNNN: Title" and "**Status.** … **Date.** …"`)
  return `| [${number}](${basename(file)}) | ${title} | ${status} | ${date} |`
}

/** The index, generated from the first lines of each decision. */
export const indexText = (): string =>
  [
    '# Decisions',
    '',
    'A decision records a choice that closes a door: Status, Date, Question, Choice, Why and Price. `scripts/decisions.ts` generates this table.',
    '',
    '| Number | Decision | Status | Date |',
    '|---|---|---|---|',
    ...globSync('[0-9]*.md', { cwd: folder })
      .sort()
      .map((name) => row(join(folder, name))),
    '',
  ].join('\n')

if (import.meta.main) writeFileSync(indexFile, indexText())
