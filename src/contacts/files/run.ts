import type { Db, Tx } from '../../db/sql.ts'
import { Problem } from '../../http/problem.ts'
import type { QuotaHolder, Quotas } from '../../http/quotas.ts'
import { BrokenFile } from '../../lib/csv.ts'
import { type Fault, type Faults, makeFaults } from '../../lib/faults.ts'
import { uuid } from '../../lib/id.ts'
import { asGiven, mostDetails, unique } from '../details.ts'
import { add, change, type Draft, load } from '../ops.ts'
import type { Contact } from '../shown.ts'
import { byKeys, count, lock, total } from '../store.ts'
import type { Read } from './entry.ts'
import * as store from './store.ts'

/** What to do with a contact of whose numbers and e-mail addresses the account has one already. */
export type Duplicates = 'skip' | 'merge' | 'create'

export type Outcome = {
  /** Contacts in the file. */
  read: number
  created: number
  merged: number
  skipped: number
  faults: Faults
}

/** Contacts that are worked on at a time. */
const part = 500

/** The file cannot be taken as it is: the transaction is undone. */
class Refused extends Error {}

const keysOf = ({ details }: Draft): string[] => details.filter(({ type }) => type !== 'A').map(({ key }) => key)

/** What is there stays; what it lacks is added. */
const merged = (base: Draft, more: Draft): Draft => ({
  first_name: base.first_name,
  last_name: base.last_name || more.last_name,
  profile_pic_url: base.profile_pic_url ?? more.profile_pic_url,
  channel_id: base.channel_id,
  details: unique([...base.details, ...more.details]),
})

/** A contact that entries go into: one that was there, or one that is new in this part. */
type Home = { readonly was: Contact | null; draft: Draft }

/** Takes some contacts into the directory. */
const take = async (tx: Tx, account: string, entries: readonly store.Entry[], duplicates: Duplicates, to: Outcome) => {
  const homes = new Map<string, Home>()
  const fresh: Home[] = []
  const old = new Map<string, Home>()
  if (duplicates !== 'create') {
    const known = await byKeys(
      tx,
      account,
      entries.flatMap(({ entry }) => keysOf(entry)),
    )
    const ids = [...new Set(known.map(({ contact_id }) => contact_id))]
    if (duplicates === 'merge') await lock(tx, account, ids)
    for (const was of await load(tx, account, ids))
      old.set(was.id, { was, draft: { ...was, details: was.details.map(asGiven) } })
    for (const { match_key, contact_id } of known) {
      const home = old.get(contact_id)
      if (home && !homes.has(match_key)) homes.set(match_key, home)
    }
  }
  const faults: Fault[] = []
  for (const { line, entry } of entries) {
    const keys = keysOf(entry)
    const home = duplicates === 'create' ? undefined : keys.map((key) => homes.get(key)).find(Boolean)
    if (home && duplicates === 'skip') {
      to.skipped++
      continue
    }
    if (home) {
      const whole = merged(home.draft, entry)
      if (whole.details.length > mostDetails) {
        faults.push({
          line,
          error: `together with the contact that it is merged into, there are over ${mostDetails} details`,
        })
        continue
      }
      home.draft = whole
      to.merged++
    } else {
      fresh.push({ was: null, draft: entry })
      to.created++
    }
    const into = home ?? fresh.at(-1)
    if (into) for (const key of keys) if (!homes.has(key)) homes.set(key, into)
  }
  to.faults.add(faults)
  await add(
    tx,
    account,
    fresh.map(({ draft }) => draft),
    true,
  )
  // One that nothing was added to stays as it was.
  for (const { was, draft } of old.values()) if (was) await change(tx, was, draft, true)
}

type Place = { readonly account: QuotaHolder; readonly quotas: Quotas; readonly id: string }

const takeAll = async (tx: Tx, place: Place, good: number, duplicates: Duplicates, to: Outcome) => {
  const { quotas, id } = place
  const account = place.account.id
  const most = quotas.of(place.account, 'contacts')
  if (!(await store.begin(tx, account))) {
    const text = 'Another import of the account is being taken in: try again when it has ended'
    throw new Problem('unavailable', text, 'import_running', { 'retry-after': '5' })
  }
  const before = await total(tx, account)
  // Known before any work where each contact of the file becomes one; else found out part by part, and undone.
  if (duplicates === 'create' && before + good > most) throw quotas.exceeded(place.account, 'contacts')
  let after = 0
  let taken = 0
  for (;;) {
    const entries = await store.staged(tx, account, id, after, part)
    await take(tx, account, entries, duplicates, to)
    if (before + to.created > most) throw quotas.exceeded(place.account, 'contacts')
    taken += entries.length
    after = entries.at(-1)?.line ?? after
    if (entries.length < part) break
  }
  if (taken !== good) throw new Error(`${good} contacts were put aside, and ${taken} are there`)
  if (!(await count(tx, account, to.created, most))) throw quotas.exceeded(place.account, 'contacts')
}

/** A process renews the row of its import this often; one that was not renewed three times is over. */
const renewMs = 10_000

/** Runs an import as one of those that the account may have under way. @throws the 403 Problem when there are too many */
const asOne = async <T>(db: Db, { account, quotas, id }: Place, work: () => Promise<T>): Promise<T> => {
  await db.begin(async (tx) => {
    await store.enter(tx, account.id, id)
    await quotas.check(tx, account, 'imports', () => store.underWay(tx, account.id, (3 * renewMs) / 1000))
  })
  const timer = setInterval(() => void store.renew(db, account.id, id).catch(() => {}), renewMs).unref()
  try {
    return await work()
  } finally {
    clearInterval(timer)
    await store.leave(db, account.id, id).catch(() => {})
  }
}

/**
 * Imports a file of contacts: all of it, or nothing, unless bad lines are to be passed over. Contacts are put aside as they
 * come, so that memory stays the same however many there are and no transaction waits for a slow sender; one transaction then
 * takes them into the directory.
 * @throws the 403 Problem of the quotas `imports` and `contacts`: then nothing was imported
 */
export const importContacts = (
  db: Db,
  quotas: Quotas,
  account: QuotaHolder,
  file: AsyncIterable<Read>,
  how: { duplicates: Duplicates; skipBad: boolean },
): Promise<Outcome> => {
  const place = { account, quotas, id: uuid() }
  return asOne(db, place, () => importFile(db, place, file, how))
}

const importFile = async (
  db: Db,
  place: Place,
  file: AsyncIterable<Read>,
  { duplicates, skipBad }: { duplicates: Duplicates; skipBad: boolean },
): Promise<Outcome> => {
  const { quotas, id } = place
  const account = place.account.id
  const most = quotas.of(place.account, 'contacts')
  const to: Outcome = { read: 0, created: 0, merged: 0, skipped: 0, faults: makeFaults() }
  let good = 0
  let batch: store.Entry[] = []
  const flush = async () => {
    good += batch.length
    // The file alone holds more than the account may have: no more of it is put aside.
    if (good > most) throw quotas.exceeded(place.account, 'contacts')
    if (batch.length > 0) await store.stage(db, account, id, batch)
    batch = []
  }
  try {
    try {
      for await (const { line, read } of file) {
        to.read++
        if (typeof read === 'string') to.faults.add([{ line, error: read }])
        else if (skipBad || to.faults.count === 0) batch.push({ line, entry: read })
        if (batch.length >= part) await flush()
      }
      if (to.read === 0) to.faults.add([{ line: 1, error: 'there are no contacts in the file' }])
    } catch (error) {
      if (!(error instanceof BrokenFile)) throw error
      to.faults.add([{ line: error.line, error: error.message }])
    }
    await flush()
    const isRefused = () => to.faults.count > 0 && !skipBad
    if (isRefused() || good === 0) return to
    await db
      .begin(async (tx) => {
        await takeAll(tx, place, good, duplicates, to)
        if (isRefused()) throw new Refused()
      })
      .catch((error) => {
        if (!(error instanceof Refused)) throw error
        Object.assign(to, { created: 0, merged: 0, skipped: 0 })
      })
    return to
  } finally {
    if (good > 0) await store.clear(db, account, id).catch(() => {})
  }
}
