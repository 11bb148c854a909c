import { buffer } from 'node:stream/consumers'
import { type Entry, readArchive, readEntries } from './backup-archive.ts'
import { BadBackup } from './envelope.ts'
import { type Manifest, parseManifest, parseSummary, type Summary } from './manifest.ts'

export type Contents = { readonly manifest: Manifest; readonly master: Buffer; readonly summary: Summary }

/** The callbacks of a reader of a backup. */
export type Reader = {
  /** Called first. */
  begin(manifest: Manifest, master: Buffer): Promise<void>
  /** Called for the parts of tables, then for files. */
  entry(entry: Entry): Promise<void>
}

/** Checks that the parts of each table follow each other, and that files follow the tables. */
const makeOrderCheck = ({ tables }: Manifest) => {
  const left = new Set(tables.map(({ name }) => name))
  let [table, parts, isAfterRows]: [string, number, boolean] = ['', 0, false]
  return ({ name, kind }: Entry): void => {
    if (kind.kind !== 'rows') {
      isAfterRows = true
      return
    }
    if (isAfterRows) throw new BadBackup(`The backup has rows after its files: ${name}.`)
    if (kind.table !== table) {
      if (!left.delete(kind.table))
        throw new BadBackup(`The backup has rows ${name} of a table that its manifest does not name, or names earlier.`)
      table = kind.table
      parts = 0
    }
    parts += 1
    if (kind.part !== parts) throw new BadBackup(`The backup has rows ${name} where the part ${parts} is due.`)
  }
}

/** Reads entries to their end. @throws BadBackup, Unreadable, and the errors of the reader */
const readAll = async (entries: AsyncIterable<Entry>, { begin, entry: take }: Reader): Promise<Contents> => {
  let manifest: Manifest | null = null
  let master: Buffer | null = null
  let summary: Summary | null = null
  let checkOrder: ReturnType<typeof makeOrderCheck> | null = null
  let [files, bytes] = [0, 0]
  for await (const entry of entries) {
    const { kind } = entry.kind
    if (summary !== null) throw new BadBackup(`The backup has an entry ${entry.name} after its summary.`)
    if (manifest === null || checkOrder === null) {
      if (kind !== 'manifest') throw new BadBackup('The backup does not begin with its manifest.')
      manifest = parseManifest(await buffer(entry.body))
      checkOrder = makeOrderCheck(manifest)
    } else if (master === null) {
      if (kind !== 'key') throw new BadBackup('The backup has no master key after its manifest.')
      master = await buffer(entry.body)
      if (master.length !== entry.size || master.length !== 32)
        throw new BadBackup(`The master key of the backup has ${master.length} bytes, not 32.`)
      await begin(manifest, master)
    } else if (kind === 'manifest' || kind === 'key') {
      throw new BadBackup(`The backup has a second entry ${entry.name}.`)
    } else if (kind === 'summary') {
      summary = parseSummary(await buffer(entry.body))
    } else {
      checkOrder(entry)
      if (kind !== 'rows') {
        files += 1
        bytes += entry.size
      }
      await take(entry)
    }
  }
  if (manifest === null || master === null || summary === null)
    throw new BadBackup('The backup ends without its summary.')
  if (files !== summary.files || bytes !== summary.bytes)
    throw new BadBackup(
      `The backup has ${files} files of ${bytes} bytes; its summary says ${summary.files} of ${summary.bytes}.`,
    )
  return { manifest, master, summary }
}

/** Reads a backup to its end. @throws BadBackup, Unreadable, and the errors of the reader */
export const readBackup = (path: string, passphrase: string, reader: Reader): Promise<Contents> =>
  readAll(readArchive(path, passphrase), reader)

/** Reads a decrypted backup to its end. @throws BadBackup, Unreadable, and the errors of the reader */
export const readPlainBackup = (plain: AsyncIterable<Buffer>, reader: Reader): Promise<Contents> =>
  readAll(readEntries(plain), reader)
