import type { Session } from '../../../platform/db/database-session.ts'
import { quoteIdentifier, quoteIdentifiers } from '../../../platform/db/identifier.ts'
import type { Writer } from '../format/backup-archive.ts'
import { portionBytes } from '../limits.ts'
import type * as store from '../store.ts'

/** Begins a snapshot in which the text of every value is the same on each server and in each session. */
export const beginSnapshot = async (session: Session): Promise<void> => {
  await session.raw('begin transaction isolation level repeatable read, read only')
  await session.raw(
    `set local datestyle = 'ISO, MDY'; set local intervalstyle = 'postgres'; set local timezone = 'UTC';
     set local extra_float_digits = 1; set local bytea_output = 'hex'`,
  )
}

async function* portions(source: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  let held: Buffer[] = []
  let length = 0
  for await (const part of source) {
    held.push(part)
    length += part.length
    if (length < portionBytes) continue
    yield Buffer.concat(held)
    held = []
    length = 0
  }
  if (length > 0) yield Buffer.concat(held)
}

/** Number of rows by table name. */
export type RowCounts = ReadonlyMap<string, number>

/** Writes the rows of every table as `database/<table>/<number>`, in the text form of COPY. */
export const dumpTables = async (
  session: Session,
  tables: readonly store.Table[],
  writer: Pick<Writer, 'add'>,
  tell: (line: string) => void,
): Promise<RowCounts> => {
  const counts = new Map<string, number>()
  for (const { name, columns } of tables) {
    tell(`table ${name}`)
    const selected = `select ${quoteIdentifiers(columns)} from ${quoteIdentifier(name)}`
    const rows = session.copyOut(`copy (${selected}) to stdout (encoding 'UTF8')`)
    let number = 0
    for await (const bytes of portions(rows)) {
      number += 1
      await writer.add(`database/${name}/${String(number).padStart(6, '0')}`, bytes)
    }
    counts.set(name, rows.rowCount)
  }
  return counts
}
