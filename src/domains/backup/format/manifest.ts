import type { Migration, Money, Table } from '../store.ts'
import { type Entry, readArchive } from './backup-archive.ts'
import { BadBackup } from './envelope.ts'

/** The first entry of a backup: its contents at the moment of the snapshot. */
export type Manifest = {
  readonly format: 1
  /** Version of Trunkline that made it. */
  readonly version: string
  readonly created_at: string
  readonly postgresql: string
  /** Bytes of the database on disk, and of the files as counted before. */
  readonly database_bytes: number
  readonly files_bytes: number
  readonly migrations: readonly Migration[]
  readonly tables: readonly Table[]
  readonly money: Money
  /** The bucket with the files of messages, which the backup does not contain; null for a folder. */
  readonly bucket: string | null
  /** The id of the folder of recordings; null when it had none. */
  readonly recordings_id: string | null
}

/** The last entry of a backup. */
export type Summary = {
  readonly rows: Record<string, number>
  readonly sequences: readonly { name: string; value: string }[]
  readonly files: number
  readonly bytes: number
  /** Files in the snapshot that reached their retention limit and were deleted during the backup. */
  readonly deleted: readonly string[]
  /** Files that the database names but that do not exist. */
  readonly missing: readonly string[]
}

export const manifestName = 'manifest.json'
export const keyName = 'keys/master'
export const summaryName = 'summary.json'

export const jsonOf = (value: Manifest | Summary): Buffer => Buffer.from(`${JSON.stringify(value, null, 2)}\n`)

const bytesOf = async ({ body }: Entry): Promise<Buffer> => {
  const parts: Buffer[] = []
  for await (const part of body) parts.push(part)
  return Buffer.concat(parts)
}

export type Contents = { readonly manifest: Manifest; readonly master: Buffer; readonly summary: Summary }

/** The callbacks of a reader of a backup. */
export type Reader = {
  /** Called first. */
  begin(manifest: Manifest, master: Buffer): Promise<void>
  entry(entry: Entry): Promise<void>
}

/**
 * Reads a backup to its end.
 * @throws BadBackup, Unreadable, and the errors of the reader
 */
export const readBackup = async (
  path: string,
  passphrase: string,
  { begin, entry: take }: Reader,
): Promise<Contents> => {
  let manifest: Manifest | null = null
  let master: Buffer | null = null
  let summary: Summary | null = null
  for await (const entry of readArchive(path, passphrase)) {
    if (entry.name === manifestName) {
      // Parse boundary: the chunks were authenticated, so a version of ours wrote it; `format` names the format.
      manifest = JSON.parse((await bytesOf(entry)).toString('utf8')) as Manifest
      if (manifest.format !== 1)
        throw new BadBackup(
          `The backup was made by Trunkline ${manifest.version}, in a form that this version does not know.`,
        )
      continue
    }
    if (manifest === null) throw new BadBackup('The backup does not begin with its manifest.')
    if (master === null) {
      if (entry.name !== keyName) throw new BadBackup('The backup has no master key.')
      master = await bytesOf(entry)
      await begin(manifest, master)
      continue
    }
    if (entry.name === summaryName) summary = JSON.parse((await bytesOf(entry)).toString('utf8')) as Summary
    else await take(entry)
  }
  if (manifest === null || master === null || summary === null)
    throw new BadBackup('The backup ends without its summary.')
  return { manifest, master, summary }
}
