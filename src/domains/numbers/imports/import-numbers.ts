import type { Db, Tx } from '../../../platform/db/sql.ts'
import { uuid } from '../../../platform/lib/id.ts'
import {
  type ImportError,
  type ImportErrors,
  makeImportErrors,
  maxListedErrors,
} from '../../../platform/lib/import-errors.ts'
import type { TextFile } from '../../../platform/lib/text-encoding.ts'
import { importBatchSize } from '../limits.ts'
import { type ImportGroup, makeImportGroups } from './import-groups.ts'
import { type ImportLine, readImport } from './import-reader.ts'
import { makePlaceIndex } from './place-index.ts'
import * as store from './store.ts'

/** Result of an import. */
export type ImportResult = { id: string; lines: number; imported: number; groups: number; faults: ImportErrors }

const duplicateMessage = (number: string) => `${number} is in the inventory already`

/** Stages valid lines. @returns the faults of the others */
const stageLines = async (
  db: Db,
  id: string,
  entries: readonly ImportLine[],
  isListed: boolean,
): Promise<ImportError[]> => {
  if (entries.length === 0) return []
  const left = new Map((await store.stageLines(db, id, entries)).map((row) => [row.line, row.is_known]))
  if (left.size === 0) return []
  const wrong = entries.filter(({ line }) => left.has(line))
  const twice = wrong.filter(({ line }) => left.get(line) === false).map(({ number }) => number)
  // The first occurrence of a duplicate is looked up only for listed faults.
  const rows = isListed && twice.length > 0 ? await store.firstLines(db, id, twice) : []
  const first = new Map(rows.map((row) => [row.number, row.line]))
  return wrong.map(({ line, number }) => ({
    line,
    error: left.get(line)
      ? duplicateMessage(number)
      : `${number} already appears on line ${first.get(number) ?? 'another'}`,
  }))
}

/** Thrown when some of the numbers entered the inventory while the file was read. */
class OvertakenError extends Error {}

const withoutPrice = async (db: Db, groups: readonly ImportGroup[]): Promise<ImportError[]> => {
  const bare = groups.filter(({ price }) => price === null)
  const priced = new Set((await store.groupsWithPrice(db, bare)).map(({ id }) => id))
  return bare
    .filter(({ id }) => !priced.has(id))
    .map(({ line, iso, type }) => ({
      line,
      error: `monthly_price is missing, and ${iso} ${type} numbers have no price: set one here or in the prices of numbers`,
    }))
}

/** Moves all staged lines into the inventory. @throws OvertakenError */
const addToInventory = async (
  tx: Tx,
  id: string,
  groups: readonly ImportGroup[],
  onProgress: (added: number) => Promise<void>,
) => {
  await store.addGroups(tx, groups)
  let sum = 0
  let after = ''
  for (;;) {
    const { last, taken, added } = await store.addNumbers(tx, id, groups, after, importBatchSize)
    if (taken !== added) throw new OvertakenError()
    if (last === null) break
    sum += added
    after = last
    await onProgress(sum)
  }
  await store.addStock(tx, id, groups)
}

/**
 * Imports a file of numbers completely or not at all. Lines are staged in batches as they arrive, so memory use does
 * not depend on the file's length. Once every line is valid, one transaction moves them into the inventory.
 * `number_imports` holds the progress. Measured: see docs/operating/numbers.md.
 * @param dryRun validates every line and imports nothing
 * @param record records the audit act in the transaction that fills the inventory
 */
export const importNumbers = async (
  db: Db,
  file: TextFile,
  dryRun: boolean,
  record: (tx: Tx, result: Omit<ImportResult, 'faults' | 'lines'>) => Promise<void> = async () => {},
): Promise<ImportResult> => {
  const id = uuid()
  const groups = makeImportGroups()
  const faults = makeImportErrors()
  let lines = 0
  let imported = 0
  const at = () => ({ lines, bad: faults.count, imported, groups: groups.all.size })
  await store.begin(db, id, dryRun)
  try {
    const places = makePlaceIndex(await store.places(db))
    for await (const batch of readImport(file, places, groups)) {
      lines += batch.lines
      faults.add(
        [...batch.faults, ...(await stageLines(db, id, batch.entries, !faults.isFull))].sort((a, b) => a.line - b.line),
      )
      await store.progress(db, id, 'reading', at())
    }
    const all = [...groups.all.values()]
    faults.add(await withoutPrice(db, all))
    if (lines === 0 && faults.count === 0) faults.add([{ line: 1, error: 'there are no lines below the header' }])
    if (faults.count === 0 && !dryRun) {
      const take = db.begin(async (tx) => {
        await addToInventory(tx, id, all, async (added) => {
          imported = added
          await store.progress(db, id, 'importing', at())
        })
        await record(tx, { id, imported, groups: groups.all.size })
      })
      await take.catch(async (error) => {
        if (!(error instanceof OvertakenError)) throw error
        imported = 0
        const known = await store.linesInInventory(db, id, maxListedErrors)
        faults.add(
          known.map(({ line, number }) => ({ line, error: duplicateMessage(number) })),
          known[0]?.total ?? 0,
        )
      })
    }
    await store.finish(db, id, faults.count > 0 ? 'refused' : 'done', at(), faults.listed)
  } catch (error) {
    imported = 0
    await store.finish(db, id, 'failed', at(), []).catch(() => {})
    throw error
  } finally {
    await store.clearStagedLines(db, id).catch(() => {})
  }
  return { id, lines, imported, groups: groups.all.size, faults }
}
