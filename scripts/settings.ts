import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { settings } from '../src/config.ts'

/** The manual for operators. */
export const manualFile = join(import.meta.dirname, '../docs/operating.md')

const table = (): string =>
  [
    '| Setting | Default | |',
    '|---|---|---|',
    ...Object.values(settings).map(
      ({ name, default: fallback, about }) =>
        `| \`${name}\` | ${fallback === '' ? '' : `\`${fallback}\``} | ${about} |`,
    ),
  ].join('\n')

/** The manual with the table of settings as src/config.ts says it now. */
export const withSettings = (manual: string): string =>
  manual.replace(
    /(<!-- settings -->\n).*?(<!-- \/settings -->)/s,
    (_, start: string, end: string) => `${start}${table()}\n${end}`,
  )

/** The file that one copies to .env. */
const example = (): string => {
  const opening = '# Settings of Trunkline, each with its default. Copy to .env, or set them in the environment.\n'
  const lines = Object.values(settings).map(({ name, default: value, about }) => `# ${about}\n# ${name}=${value}\n`)
  return [opening, ...lines].join('\n')
}

if (import.meta.main) {
  writeFileSync(manualFile, withSettings(readFileSync(manualFile, 'utf8')))
  writeFileSync(join(import.meta.dirname, '../.env.example'), example())
}
