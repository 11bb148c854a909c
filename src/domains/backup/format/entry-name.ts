import { maxDigestsBytes, maxManifestBytes, maxShownCharacters, maxSummaryBytes } from '../limits.ts'

/** The kinds of entries of a backup, by name. No other name is read, so no name leads out of a folder. */
export type EntryKind =
  | { readonly kind: 'manifest' | 'key' | 'summary' | 'digests' }
  /** Rows of a table, cut into parts numbered from 1. */
  | { readonly kind: 'rows'; readonly table: string; readonly part: number }
  | { readonly kind: 'media' | 'recordings'; readonly file: string }

export const manifestName = 'manifest.json'
export const keyName = 'keys/master'
export const summaryName = 'summary.json'
export const digestsFolder = 'digests/'

const keyBytes = 32
const recordingsIdBytes = 64

const uuid = '[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}'
/** Names of files that the platform creates: other files in a folder are neither copied nor overwritten. */
const fileForms = {
  media: `${uuid}/[0-9a-f]{2}/[0-9a-f]{64}(?:\\.enc)?`,
  recordings: `(?:id|${uuid}/${uuid}\\.wav(?:\\.enc)?)`,
} as const
const fileNames = {
  media: new RegExp(`^${fileForms.media}$`),
  recordings: new RegExp(`^${fileForms.recordings}$`),
} as const

/** Pattern of the names of entries that hold files. */
export const fileEntryPattern = `^(?:media/${fileForms.media}|recordings/${fileForms.recordings})$`

/** Returns whether the platform creates files of this name. */
export const isFileName = (kind: 'media' | 'recordings', name: string): boolean => fileNames[kind].test(name)

/** Returns the kind of an entry; null for a name that no version writes. */
export const kindOf = (name: string): EntryKind | null => {
  if (name === manifestName) return { kind: 'manifest' }
  if (name === keyName) return { kind: 'key' }
  if (name === summaryName) return { kind: 'summary' }
  if (/^digests\/\d{6,9}$/.test(name)) return { kind: 'digests' }
  const [, table, part] = /^database\/([a-z_][a-z0-9_]{0,62})\/(\d{6,9})$/.exec(name) ?? []
  if (table !== undefined) return { kind: 'rows', table, part: Number(part) }
  const [, kind, file = ''] = /^(media|recordings)\/(.+)$/.exec(name) ?? []
  if ((kind === 'media' || kind === 'recordings') && isFileName(kind, file)) return { kind, file }
  return null
}

/** Returns the bytes that an entry may have; null where its content is not held in memory. */
export const maxBytesOf = (entry: EntryKind): number | null => {
  if (entry.kind === 'manifest') return maxManifestBytes
  if (entry.kind === 'key') return keyBytes
  if (entry.kind === 'summary') return maxSummaryBytes
  if (entry.kind === 'digests') return maxDigestsBytes
  return entry.kind === 'recordings' && entry.file === 'id' ? recordingsIdBytes : null
}

/** Returns a text of a backup for an error: quoted, without control characters, and cut. */
export const shown = (text: string): string => {
  const cut = text.length > maxShownCharacters ? `${text.slice(0, maxShownCharacters)}…` : text
  return JSON.stringify(cut).replace(/[^\x20-\x7e…]/g, (one) => `\\u${one.charCodeAt(0).toString(16).padStart(4, '0')}`)
}
