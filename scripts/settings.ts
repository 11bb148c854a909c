import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { settings } from '../src/config.ts'

/** The page of settings. */
export const manualFile = join(import.meta.dirname, '../docs/operating/settings.md')

const table = (): string =>
  [
    '| Setting | Default | |',
    '|---|---|---|',
    ...Object.values(settings).map(
      ({ name, default: fallback, about }) =>
        `| \`${name}\` | ${fallback === '' ? '' : `\`${fallback}\``} | ${about} |`,
    ),
  ].join('\n')

/** Returns the manual with the table of settings generated from src/config.ts. */
export const withSettings = (manual: string): string =>
  manual.replace(
    /(<!-- settings -->\n).*?(<!-- \/settings -->)/s,
    (_, start: string, end: string) => `${start}${table()}\n${end}`,
  )

/** Returns the content of .env.example. */
const example = (): string => {
  const opening = '# Settings of Trunkline, each with its default. Copy to .env, or set them in the environment.\n'
  const lines = Object.values(settings).map(({ name, default: value, about }) => `# ${about}\n# ${name}=${value}\n`)
  return [opening, ...lines].join('\n')
}

if (import.meta.main) {
  writeFileSync(manualFile, withSettings(readFileSync(manualFile, 'utf8')))
  writeFileSync(join(import.meta.dirname, '../.env.example'), example())
}
