import type { Db } from '../../../platform/db/sql.ts'
import type { QuotaHolder, Quotas } from '../../../platform/http/quotas.ts'
import { UnreadableCsv } from '../../../platform/lib/csv.ts'
import { type ImportErrors, makeImportErrors } from '../../../platform/lib/import-errors.ts'
import { optOutChunkSize } from '../limits.ts'
import { addOptOuts } from './add-opt-outs.ts'
import type { ParsedLine } from './opt-out-csv.ts'
import * as store from './store.ts'

export type ImportResult = {
  /** Lines of the file. */
  read: number
  created: number
  /** Opt-outs that existed already. */
  skipped: number
  readonly faults: ImportErrors
}

type Line = { readonly line: number; readonly entry: store.NewOptOut }

/**
 * Imports a file of opt-outs, chunk by chunk: each is committed on its own, as a repeated import adds nothing twice. No
 * transaction waits for a slow sender.
 * @param to counts what is imported, also if the import fails
 * @throws the 403 Problem of the quota `opt_outs`; earlier chunks stay imported
 */
export const importOptOuts = async (
  { db, quotas }: { readonly db: Db; readonly quotas: Quotas },
  account: QuotaHolder,
  file: AsyncIterable<ParsedLine>,
  to: ImportResult,
): Promise<void> => {
  const addChunk = async (lines: readonly Line[]) => {
    const numbers = new Set(lines.map(({ entry }) => entry.number).filter((number) => number !== store.everyNumber))
    const own = numbers.size === 0 ? numbers : await store.numbersOf(db, account.id, [...numbers])
    const isOwn = ({ entry }: Line) => entry.number === store.everyNumber || own.has(entry.number)
    to.faults.add(
      lines
        .filter((line) => !isOwn(line))
        .map(({ line, entry }) => ({
          line,
          error: `phone_number: ${entry.number} is not an SMS-capable number of this account`,
        })),
    )
    const good = lines.filter(isOwn).map(({ entry }) => entry)
    const created = await db.begin((tx) => addOptOuts(tx, quotas, account, 'import', good))
    to.created += created.length
    to.skipped += good.length - created.length
  }
  let chunk: Line[] = []
  try {
    for await (const { line, read } of file) {
      to.read++
      if (typeof read === 'string') to.faults.add([{ line, error: read }])
      else chunk.push({ line, entry: read })
      if (chunk.length < optOutChunkSize) continue
      await addChunk(chunk)
      chunk = []
    }
  } catch (error) {
    if (!(error instanceof UnreadableCsv)) throw error
    to.faults.add([{ line: error.line, error: error.message }])
  }
  if (chunk.length > 0) await addChunk(chunk)
  if (to.read === 0 && to.faults.count === 0) to.faults.add([{ line: 1, error: 'the file has no opt-outs' }])
}

export const makeImportResult = (): ImportResult => ({ read: 0, created: 0, skipped: 0, faults: makeImportErrors() })
