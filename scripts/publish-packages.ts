import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { readOptions } from './releases/options.ts'
import { run } from './releases/releases.ts'

const help = `npm run publish-packages [-- --from FOLDER] [--dry-run]

Publishes the packages that npm run release has made, with provenance: a workflow proves where they were made.

  --from FOLDER   where they are    (default: dist/release)
  --dry-run       says what would be published
  --help          prints this text`

const values = readOptions(help, {
  from: { type: 'string', default: 'dist/release' },
  'dry-run': { type: 'boolean', default: false },
})

const folder = resolve(import.meta.dirname, '..', values.from)

/** The packages among the files of the release. @throws Error when one has changed */
const packages = (): string[] => {
  const lines = readFileSync(join(folder, 'SHA256SUMS'), 'utf8').trim().split('\n')
  return lines.flatMap((line) => {
    const [sum, name = ''] = line.split('  ')
    if (!name.endsWith('.tgz')) return []
    const found = createHash('sha256').update(readFileSync(join(folder, name)))
    if (found.digest('hex') !== sum) throw new Error(`${name} is not the file that npm run release made: make it again`)
    return [join(folder, name)]
  })
}

for (const path of packages()) {
  const how = values['dry-run'] ? ['--dry-run'] : ['--provenance']
  run('npm', ['publish', path, '--access', 'public', ...how], folder)
  console.log(`${values['dry-run'] ? 'would publish' : 'published'} ${path.slice(folder.length + 1)}`)
}
