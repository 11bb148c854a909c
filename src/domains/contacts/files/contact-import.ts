import type { Db, Tx } from '../../../platform/db/sql.ts'
import type { QuotaHolder, Quotas } from '../../../platform/http/quotas.ts'
import { UnreadableCsv } from '../../../platform/lib/csv.ts'
import { uuid } from '../../../platform/lib/id.ts'
import { type ImportError, type ImportErrors, makeImportErrors } from '../../../platform/lib/import-errors.ts'
import { mapFields } from '../contact-fields.ts'
import type { Contact } from '../contact-presenter.ts'
import { identityOf, toInput, unique } from '../details.ts'
import { importChunkSize, importRenewMs, maxDetails } from '../limits.ts'
import { add, change, type Draft, load } from '../ops.ts'
import { refusals } from '../refusals.ts'
import { byKeys, count, lock, total } from '../store.ts'
import type { ParsedEntry } from './import-entry.ts'
import * as store from './store.ts'

/** How to treat a contact if the account already has one of its numbers or e-mail addresses. */
export type Duplicates = 'skip' | 'merge' | 'create'

export type ImportResult = {
  /** Contacts in the file. */
  read: number
  created: number
  merged: number
  skipped: number
  /** Bad lines, whose contacts are not imported. */
  faults: ImportErrors
  /** Bad details, without which their contacts are imported. */
  left: ImportErrors
}

/** Rolls back the transaction: the file cannot be imported. */
class ImportRejected extends Error {}

const keysOf = ({ details }: Draft): string[] => details.filter(({ type }) => type !== 'A').map(identityOf)

/** Adds what the existing contact lacks; its own values stay. */
const merged = (base: Draft, more: Draft): Draft => ({
  ...mapFields((name) => base[name] || (more[name] ?? base[name])),
  channel_id: base.channel_id,
  details: unique([...base.details, ...more.details]),
})

/** Target of entries: an existing contact, or one created in this chunk. */
type MergeTarget = { readonly was: Contact | null; draft: Draft }

/** Adds one chunk of entries to the directory. */
const importChunk = async (
  tx: Tx,
  account: string,
  entries: readonly store.Entry[],
  duplicates: Duplicates,
  to: ImportResult,
) => {
  const homes = new Map<string, MergeTarget>()
  const created: MergeTarget[] = []
  const existing = new Map<string, MergeTarget>()
  if (duplicates !== 'create') {
    const matches = await byKeys(
      tx,
      account,
      entries.flatMap(({ entry }) => entry.details.flatMap(({ type, key }) => (type === 'A' ? [] : [key]))),
    )
    // Matches by number, with the same extension: people of one company share its number.
    const wanted = new Set(entries.flatMap(({ entry }) => keysOf(entry)))
    const found = matches.flatMap(({ match_key, extension, contact_id }) => {
      const id = identityOf({ key: match_key, extension })
      return wanted.has(id) ? [{ id, contact_id }] : []
    })
    const ids = [...new Set(found.map(({ contact_id }) => contact_id))]
    if (duplicates === 'merge') await lock(tx, account, ids)
    for (const was of await load(tx, account, ids))
      existing.set(was.id, { was, draft: { ...was, details: was.details.map(toInput) } })
    for (const { id, contact_id } of found) {
      const home = existing.get(contact_id)
      if (home && !homes.has(id)) homes.set(id, home)
    }
  }
  const faults: ImportError[] = []
  for (const { line, entry } of entries) {
    const keys = keysOf(entry)
    const home = duplicates === 'create' ? undefined : keys.map((key) => homes.get(key)).find(Boolean)
    if (home && duplicates === 'skip') {
      to.skipped++
      continue
    }
    if (home) {
      const whole = merged(home.draft, entry)
      if (whole.details.length > maxDetails) {
        faults.push({
          line,
          error: `merged with the existing contact it would have over ${maxDetails} details`,
        })
        continue
      }
      home.draft = whole
      to.merged++
    } else {
      created.push({ was: null, draft: entry })
      to.created++
    }
    const into = home ?? created.at(-1)
    if (into) for (const key of keys) if (!homes.has(key)) homes.set(key, into)
  }
  to.faults.add(faults)
  await add(
    tx,
    account,
    created.map(({ draft }) => draft),
    true,
  )
  // Contacts without additions stay as they were.
  for (const { was, draft } of existing.values()) if (was) await change(tx, was, draft, true)
}

type ImportContext = { readonly account: QuotaHolder; readonly quotas: Quotas; readonly id: string }

const importStaged = async (tx: Tx, context: ImportContext, good: number, duplicates: Duplicates, to: ImportResult) => {
  const { quotas, id } = context
  const account = context.account.id
  const most = quotas.limitOf(context.account, 'contacts')
  if (!(await store.tryLock(tx, account))) throw refusals.importRunning()
  const before = await total(tx, account)
  // Checked up front if every entry becomes a contact; otherwise checked chunk by chunk, and rolled back.
  if (duplicates === 'create' && before + good > most) throw quotas.exceeded(context.account, 'contacts')
  let after = 0
  let imported = 0
  for (;;) {
    const entries = await store.readStaged(tx, account, id, after, importChunkSize)
    await importChunk(tx, account, entries, duplicates, to)
    if (before + to.created > most) throw quotas.exceeded(context.account, 'contacts')
    imported += entries.length
    after = entries.at(-1)?.line ?? after
    if (entries.length < importChunkSize) break
  }
  if (imported !== good) throw new Error(`${good} contacts were staged, but ${imported} were found`)
  if (!(await count(tx, account, to.created, most))) throw quotas.exceeded(context.account, 'contacts')
}

/**
 * Runs an import within the account's quota of concurrent imports.
 * @throws the 403 Problem above the quota
 */
const withinImportQuota = async <T>(
  db: Db,
  { account, quotas, id }: ImportContext,
  work: () => Promise<T>,
): Promise<T> => {
  await db.begin(async (tx) => {
    await store.register(tx, account.id, id)
    await quotas.check(tx, account, 'imports', () => store.countRunning(tx, account.id, (3 * importRenewMs) / 1000))
  })
  const timer = setInterval(() => void store.renew(db, account.id, id).catch(() => {}), importRenewMs).unref()
  try {
    return await work()
  } finally {
    clearInterval(timer)
    await store.unregister(db, account.id, id).catch(() => {})
  }
}

/**
 * Imports a file of contacts: all or nothing, unless bad lines are skipped. Contacts are staged as they arrive.
 * Memory therefore stays constant, and no transaction waits for a slow sender. One transaction then adds them to the
 * directory.
 * @throws the 403 Problem of the quotas `imports` and `contacts`; nothing was imported then
 */
export const importContacts = (
  db: Db,
  quotas: Quotas,
  account: QuotaHolder,
  file: AsyncIterable<ParsedEntry>,
  options: { duplicates: Duplicates; skipBad: boolean },
): Promise<ImportResult> => {
  const context = { account, quotas, id: uuid() }
  return withinImportQuota(db, context, () => importFile(db, context, file, options))
}

const importFile = async (
  db: Db,
  context: ImportContext,
  file: AsyncIterable<ParsedEntry>,
  { duplicates, skipBad }: { duplicates: Duplicates; skipBad: boolean },
): Promise<ImportResult> => {
  const { quotas, id } = context
  const account = context.account.id
  const most = quotas.limitOf(context.account, 'contacts')
  const to: ImportResult = {
    read: 0,
    created: 0,
    merged: 0,
    skipped: 0,
    faults: makeImportErrors(),
    left: makeImportErrors(),
  }
  let good = 0
  let batch: store.Entry[] = []
  const flush = async () => {
    good += batch.length
    // The file alone exceeds the quota: staging stops.
    if (good > most) throw quotas.exceeded(context.account, 'contacts')
    if (batch.length > 0) await store.stage(db, account, id, batch)
    batch = []
  }
  try {
    try {
      for await (const { line, read, left = [] } of file) {
        to.read++
        to.left.add(left)
        if (typeof read === 'string') to.faults.add([{ line, error: read }])
        else if (skipBad || to.faults.count === 0) batch.push({ line, entry: read })
        if (batch.length >= importChunkSize) await flush()
      }
      if (to.read === 0) to.faults.add([{ line: 1, error: 'the file has no contacts' }])
    } catch (error) {
      if (!(error instanceof UnreadableCsv)) throw error
      to.faults.add([{ line: error.line, error: error.message }])
    }
    await flush()
    const isRefused = () => to.faults.count > 0 && !skipBad
    if (isRefused() || good === 0) return to
    await db
      .begin(async (tx) => {
        await importStaged(tx, context, good, duplicates, to)
        if (isRefused()) throw new ImportRejected()
      })
      .catch((error) => {
        if (!(error instanceof ImportRejected)) throw error
        Object.assign(to, { created: 0, merged: 0, skipped: 0 })
      })
    return to
  } finally {
    if (good > 0) await store.clear(db, account, id).catch(() => {})
  }
}
