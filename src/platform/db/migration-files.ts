import { createHash } from 'node:crypto'
import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'

/** A migration that a database has, or that a backup lists. */
export type AppliedMigration = { name: string; checksum: string }

export type Migration = AppliedMigration & {
  readonly path: string
  readonly text: string
  readonly transaction: boolean
  /**
   * The migration that a process must know to work on the schema with this one; null: none may. Processes of the
   * release before know it.
   */
  readonly compatibleSince: string | null
}

/** `baseline`: the files of its folder as one migration; null in folders of tests that have none. */
export type MigrationFiles = { readonly baseline: Migration | null; readonly later: readonly Migration[] }

/** The folder of the product. */
export const ownFolder = join(import.meta.dirname, 'migrations')

/** The name of the baseline as a migration. Files named by a later time follow it. */
export const baselineName = '20261128T000000_baseline'

/**
 * Migrations that landed before files had the line `-- compatible:`, and whose schema processes with the baseline alone
 * bear. The others among them join rows that such processes go on to write apart, or change the columns of their
 * prepared statements.
 */
const landedCompatible = [
  '20261128T040000_dead_jobs',
  '20261128T130000_opt_outs',
  '20261128T162000_carriers',
  '20261128T163000_contact_labels',
  '20261128T166010_order_rings',
]

/** The last migration without that line. */
export const lastUnmarked = '20261128T175000_single_rows'

const readSql = async (folder: string, named: RegExp, example: string) => {
  const found = await readdir(folder).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return []
    throw error
  })
  const names = found.filter((name) => name.endsWith('.sql')).sort()
  return await Promise.all(
    names.map(async (name) => {
      if (!named.test(name)) throw new Error(`${join(folder, name)} is not named like ${example}`)
      // Git may write files with CRLF on some systems: that is not a change.
      return { name, text: (await readFile(join(folder, name), 'utf8')).replaceAll('\r\n', '\n') }
    }),
  )
}

/** Reads the line `-- compatible: NAME`, or `-- compatible: no`. Without one, a migration counts as not compatible. */
const compatibleSinceOf = (name: string, text: string): string | null => {
  if (landedCompatible.includes(name)) return baselineName
  const [, since = 'no'] = /^-- compatible: (.*)$/m.exec(text) ?? []
  if (since === 'no') return null
  if (!/^\d{8}T\d{6}_[a-z0-9_]+$/.test(since))
    throw new Error(`${name}: "-- compatible: ${since}" names no migration: write one, such as ${baselineName}, or no`)
  return since
}

const migrationOf = (name: string, path: string, text: string): Migration => ({
  name,
  path,
  text,
  checksum: createHash('sha256').update(text).digest('hex'),
  transaction: !/^-- no transaction\b/.test(text),
  compatibleSince: compatibleSinceOf(name, text),
})

/** @throws Error when a number is double or missing */
const checkNumbers = (names: string[]): void => {
  for (const [i, name] of names.entries()) {
    const number = Number.parseInt(name, 10)
    if (number === i) throw new Error(`Two files of the baseline have the number of ${name}`)
    if (number !== i + 1) throw new Error(`A file of the baseline is missing before ${name}`)
  }
}

/** @throws Error when a file has a bad name, or a number is double or missing */
export const readMigrationFiles = async (folder: string): Promise<MigrationFiles> => {
  const [parts, later] = await Promise.all([
    readSql(join(folder, 'baseline'), /^\d{2}_[a-z0-9_]+\.sql$/, '01_name.sql'),
    readSql(folder, /^\d{8}T\d{6}_[a-z0-9_]+\.sql$/, '20261201T093000_name.sql'),
  ])
  if (parts.length + later.length === 0) throw new Error(`${folder} has no migrations`)
  checkNumbers(parts.map(({ name }) => name))
  return {
    baseline:
      parts.length === 0 ? null : migrationOf(baselineName, 'baseline/', parts.map(({ text }) => text).join('\n')),
    later: later.map(({ name, text }) => migrationOf(name.slice(0, -'.sql'.length), name, text)),
  }
}

/** All migrations of the files, in the order of their names. */
export const allOf = ({ baseline, later }: MigrationFiles): readonly Migration[] => [
  ...(baseline ? [baseline] : []),
  ...later,
]

/** The newest migration of the files, by which a process says which schema it knows. */
export const newestOf = (files: MigrationFiles): string => allOf(files).at(-1)?.name ?? baselineName
