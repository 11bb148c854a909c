import type { Readable } from 'node:stream'
import type { Db, Tx } from '../../db/sql.ts'
import { type Fault, type Faults, makeFaults, most } from '../../lib/faults.ts'
import { uuid } from '../../lib/id.ts'
import { type Found, makeGroups } from './groups.ts'
import { makePlaces } from './places.ts'
import { type Entry, readFile } from './read.ts'
import * as store from './store.ts'

/** What became of a file. */
export type Outcome = { id: string; lines: number; imported: number; groups: number; faults: Faults }

/** Numbers that one statement takes: 0.1 s of the database, so that other statements have their turn on a small machine. */
const part = 5_000

const inInventory = (number: string) => `${number} is in the inventory already`

/** Puts good lines aside. @returns what is wrong with the others */
const stage = async (db: Db, id: string, entries: readonly Entry[], isListed: boolean): Promise<Fault[]> => {
  if (entries.length === 0) return []
  const left = new Map((await store.stage(db, id, entries)).map((row) => [row.line, row.is_known]))
  if (left.size === 0) return []
  const wrong = entries.filter(({ line }) => left.has(line))
  const twice = wrong.filter(({ line }) => left.get(line) === false).map(({ number }) => number)
  // Where a number stands first is looked up for lines that are told of only.
  const rows = isListed && twice.length > 0 ? await store.firstLines(db, id, twice) : []
  const first = new Map(rows.map((row) => [row.number, row.line]))
  return wrong.map(({ line, number }) => ({
    line,
    error: left.get(line) ? inInventory(number) : `${number} stands on line ${first.get(number) ?? 'another'} already`,
  }))
}

/** Some of the numbers came into the inventory while the file was read. */
class Overtaken extends Error {}

const withoutPrice = async (db: Db, groups: readonly Found[]): Promise<Fault[]> => {
  const bare = groups.filter(({ price }) => price === null)
  const priced = new Set((await store.priced(db, bare)).map(({ id }) => id))
  return bare
    .filter(({ id }) => !priced.has(id))
    .map(({ line, iso, type }) => ({
      line,
      error: `monthly_price is missing, and ${iso} ${type} numbers have no price: give one here or in the prices of numbers`,
    }))
}

/** Takes all that was put aside into the inventory. @throws Overtaken */
const addAll = async (tx: Tx, id: string, groups: readonly Found[], tell: (added: number) => Promise<void>) => {
  await store.addGroups(tx, groups)
  let sum = 0
  let after = ''
  for (;;) {
    const { last, taken, added } = await store.addNumbers(tx, id, groups, after, part)
    if (taken !== added) throw new Overtaken()
    if (last === null) break
    sum += added
    after = last
    await tell(sum)
  }
  await store.addStock(tx, id, groups)
}

/**
 * Imports a file of numbers: all of it, or nothing. Lines are put aside a batch at a time as they come, so that memory stays
 * the same however many there are; once every one was found good, one transaction takes them into the inventory. How far it
 * has come stands in `number_imports`. Measured: see docs/operating.md.
 * @param dryRun looks at every line, and imports nothing
 * @param record the act, in the transaction that takes the numbers into the inventory
 */
export const importNumbers = async (
  db: Db,
  body: Readable,
  dryRun: boolean,
  record: (tx: Tx, made: Omit<Outcome, 'faults' | 'lines'>) => Promise<void> = async () => {},
): Promise<Outcome> => {
  const id = uuid()
  const groups = makeGroups()
  const faults = makeFaults()
  let lines = 0
  let imported = 0
  const at = () => ({ lines, bad: faults.count, imported, groups: groups.all.size })
  await store.begin(db, id, dryRun)
  try {
    const places = makePlaces(await store.places(db))
    for await (const batch of readFile(body, places, groups)) {
      lines += batch.lines
      faults.add(
        [...batch.faults, ...(await stage(db, id, batch.entries, !faults.isFull))].sort((a, b) => a.line - b.line),
      )
      await store.progress(db, id, 'reading', at())
    }
    const all = [...groups.all.values()]
    faults.add(await withoutPrice(db, all))
    if (lines === 0 && faults.count === 0) faults.add([{ line: 1, error: 'there are no lines below the head' }])
    if (faults.count === 0 && !dryRun) {
      const take = db.begin(async (tx) => {
        await addAll(tx, id, all, async (added) => {
          imported = added
          await store.progress(db, id, 'importing', at())
        })
        await record(tx, { id, imported, groups: groups.all.size })
      })
      await take.catch(async (error) => {
        if (!(error instanceof Overtaken)) throw error
        imported = 0
        const known = await store.known(db, id, most)
        faults.add(
          known.map(({ line, number }) => ({ line, error: inInventory(number) })),
          known[0]?.total ?? 0,
        )
      })
    }
    await store.finish(db, id, faults.count > 0 ? 'refused' : 'done', at(), faults.kept)
  } catch (error) {
    imported = 0
    await store.finish(db, id, 'failed', at(), []).catch(() => {})
    throw error
  } finally {
    await store.clear(db, id).catch(() => {})
  }
  return { id, lines, imported, groups: groups.all.size, faults }
}
