import { type Static, type TSchema, Type } from 'typebox'
import { Value } from 'typebox/value'
import { maxJsonDepth, maxManifestBytes, maxSummaryBytes } from '../limits.ts'
import { fileEntryPattern, manifestName, shown, summaryName } from './entry-name.ts'
import { BadBackup } from './envelope.ts'

// The passphrase of a backup proves that the file was not changed, and nothing of its author. So both texts are checked
// like any input. Names of tables and columns only select among those of the catalogue: see select-tables.ts.

const closed = { additionalProperties: false } as const
const Count = Type.Integer({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER })
/** A name in SQL, also in the quotes that earlier versions wrote around keywords. */
const Name = Type.String({ pattern: '^(?:[a-z_][a-z0-9_]{0,62}|"[a-z_][a-z0-9_]{0,62}")$' })
const Line = (maxLength: number) => Type.String({ pattern: '^[\\x20-\\x7e]+$', maxLength })
const Decimal = Type.String({ pattern: '^-?[0-9]{1,60}(?:\\.[0-9]{1,60})?$' })
const uuid = '[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}'
/** Name of a file in the store, or in the backup. */
const Path = Type.String({ pattern: fileEntryPattern })

const Manifest = Type.Object(
  {
    format: Type.Literal(1),
    /** Version of Trunkline that made it. */
    version: Line(64),
    created_at: Type.String({ pattern: '^\\d{4}-\\d\\d-\\d\\dT\\d\\d:\\d\\d:\\d\\d\\.\\d{3}Z$' }),
    postgresql: Line(100),
    /** Bytes of the database on disk, and of the files as counted before. */
    database_bytes: Count,
    files_bytes: Count,
    migrations: Type.Array(
      Type.Object(
        {
          name: Type.String({ pattern: '^[0-9A-Za-z_]{1,100}$' }),
          checksum: Type.String({ pattern: '^[0-9a-f]{64}$' }),
        },
        closed,
      ),
      { minItems: 1, maxItems: 10_000 },
    ),
    tables: Type.Array(
      Type.Object({ name: Name, columns: Type.Array(Name, { minItems: 1, maxItems: 1_600 }) }, closed),
      { minItems: 1, maxItems: 10_000 },
    ),
    money: Type.Object(
      { accounts: Count, transfers: Count, transferred: Decimal, balances: Decimal, held: Decimal },
      closed,
    ),
    /** The bucket with the files of messages, which the backup does not contain; null for a folder. */
    bucket: Type.Union([Type.Null(), Type.String({ pattern: '^s3://[\\x21-\\x7e]+$', maxLength: 1_000 })]),
    /** The id of the folder of recordings; null when it had none. */
    recordings_id: Type.Union([Type.Null(), Type.String({ pattern: `^${uuid}$` })]),
  },
  closed,
)

/** The first entry of a backup: its contents at the moment of the snapshot. */
export type Manifest = Static<typeof Manifest>

const Summary = Type.Object(
  {
    /** Rows by table. */
    rows: Type.Record(Type.String({ pattern: '^[a-z_][a-z0-9_]{0,62}$' }), Count, closed),
    sequences: Type.Array(Type.Object({ name: Name, value: Type.String({ pattern: '^-?[0-9]{1,18}$' }) }, closed), {
      maxItems: 10_000,
    }),
    files: Count,
    bytes: Count,
    /** Files in the snapshot that reached their retention limit and were deleted during the backup. */
    deleted: Type.Array(Path),
    /** Files that the database names but that do not exist. */
    missing: Type.Array(Path),
  },
  closed,
)

/** The last entry of a backup. */
export type Summary = Static<typeof Summary>

/** @throws BadBackup when a reader would refuse the summary */
export const jsonOf = (value: Manifest | Summary): Buffer => {
  const bytes = Buffer.from(`${JSON.stringify(value, null, 2)}\n`)
  if (bytes.length > maxSummaryBytes)
    throw new BadBackup(
      `The names of missing and deleted files have ${bytes.length} bytes; ${maxSummaryBytes} are allowed. Check TRUNKLINE_MEDIA_STORE: the files of the database are not there.`,
    )
  return bytes
}

/** The depth of lists and objects in each other. Brackets in strings do not count. */
const depthOf = (bytes: Buffer): number => {
  let [depth, most, isInString] = [0, 0, false]
  for (let at = 0; at < bytes.length; at++) {
    const byte = bytes[at]
    if (isInString) {
      if (byte === 0x5c) at++
      else if (byte === 0x22) isInString = false
    } else if (byte === 0x22) isInString = true
    else if (byte === 0x5b || byte === 0x7b) most = Math.max(most, ++depth)
    else if (byte === 0x5d || byte === 0x7d) depth--
  }
  return most
}

/** @throws BadBackup for another format than that of this version */
const checkFormat = (value: unknown): void => {
  const isObject = typeof value === 'object' && value !== null && 'format' in value
  if (isObject && value.format !== 1 && 'version' in value)
    throw new BadBackup(
      `The backup was made by Trunkline ${shown(String(value.version))}, in a form that this version does not know.`,
    )
}

/** @throws BadBackup that names the entry and the field */
const parse = <Schema extends TSchema>(schema: Schema, name: string, bytes: Buffer, most: number): Static<Schema> => {
  if (bytes.length > most) throw new BadBackup(`${name} of the backup has ${bytes.length} bytes; ${most} are allowed.`)
  if (depthOf(bytes) > maxJsonDepth)
    throw new BadBackup(`${name} of the backup is nested more than ${maxJsonDepth} deep.`)
  let value: unknown
  try {
    value = JSON.parse(bytes.toString('utf8'))
  } catch {
    throw new BadBackup(`${name} of the backup is not JSON.`)
  }
  checkFormat(value)
  if (Value.Check(schema, value)) return value
  const errors = Value.Errors(schema, value)
  // A field that may be null has two errors; the other one says more.
  const error = errors.find(({ keyword }) => keyword === 'pattern') ?? errors[0]
  const fault = error?.keyword === 'boolean' ? 'is not known to this version' : (error?.message ?? 'is not allowed')
  throw new BadBackup(`${name} of the backup: ${shown(error?.instancePath ?? '')} ${fault}.`)
}

/** @throws BadBackup */
export const parseManifest = (bytes: Buffer): Manifest => parse(Manifest, manifestName, bytes, maxManifestBytes)

/** @throws BadBackup */
export const parseSummary = (bytes: Buffer): Summary => parse(Summary, summaryName, bytes, maxSummaryBytes)
