import { canonicalNumber, numberForms } from '@trunkline/phone/number-forms.ts'
import type { Sql, Tx } from '../../platform/db/sql.ts'
import type { Account } from '../../platform/http/auth.ts'
import { refuse } from '../../platform/http/problem.ts'
import type { Quotas } from '../../platform/http/quotas.ts'
import { parse, print, uuid } from '../../platform/lib/id.ts'
import { record } from '../events/ops.ts'
import { requestContact } from '../msgapp/directory/ops.ts'
import { type FieldValues, fieldNames, mapFields, searchedText } from './contact-fields.ts'
import { type Contact, presentContact } from './contact-presenter.ts'
import { changesOf, type Detail, readDetail, searchValuesOf, toInput, unique } from './details.ts'
import { refusals } from './refusals.ts'
import { digitsOf, gramsOf } from './search/search-keys.ts'
import * as store from './store.ts'

/** Writable content of a contact. */
export type Draft = FieldValues & {
  /** Channel of the messaging app. */
  readonly channel_id: string | null
  readonly details: readonly Detail[]
}

export const emptyDraft: Draft = { ...mapFields(() => null), channel_id: null, details: [] }

const withGrams = (account: string, id: string, { details, ...fields }: Draft) => {
  const { phones, emails } = searchValuesOf(details)
  // Searched in every form.
  const numbers = phones.flatMap(numberForms).map(digitsOf)
  const grams = gramsOf(account, id, { names: searchedText(fields), numbers, emails })
  return { ...fields, id, numbers: numbers.join(' '), emails: emails.join(' '), grams }
}

/** Loads contacts with their details, in the order of creation. */
export const load = async (sql: Sql, account: string, ids: readonly string[]): Promise<Contact[]> => {
  if (ids.length === 0) return []
  const [rows, details] = [await store.byIds(sql, account, ids), await store.details(sql, account, ids)]
  const byContact = Map.groupBy(details, ({ contact_id }) => contact_id)
  return rows.map((row) => ({ ...row, details: byContact.get(row.id) ?? [] }))
}

const idOf = (printed: string): string => parse('CON', printed) ?? refuse(refusals.unknownContact(printed))

/** Loads the contact that a request names. @throws the 404 Problem */
export const find = async (sql: Sql, account: string, printed: string): Promise<Contact> => {
  const [contact = refuse(refusals.unknownContact(printed))] = await load(sql, account, [idOf(printed)])
  return contact
}

/** Loads the contact that a request names, and locks it until the transaction ends. @throws the 404 Problem */
export const findLocked = async (tx: Tx, account: string, printed: string): Promise<Contact> => {
  await store.lock(tx, account, [idOf(printed)])
  return find(tx, account, printed)
}

const publishEvents = (
  tx: Tx,
  name: 'contact.created' | 'contact.updated',
  contacts: readonly Contact[],
  isBulk = false,
) =>
  record(
    tx,
    contacts.map((contact) => ({
      account: contact.account_id,
      name,
      channel: null,
      conversation: contact.id,
      payload: presentContact(contact),
    })),
    isBulk,
  )

/** Queues the contact for the address book of its channel, and stores the sync state. */
const requestSync = async (
  tx: Tx,
  account: string,
  { id, first_name, last_name }: store.NewContact,
  draft: Draft,
): Promise<void> => {
  const { channel_id: channel, details } = draft
  const [number] = [
    ...searchValuesOf(details.filter(({ type }) => type === 'WAPH')).phones,
    ...searchValuesOf(details).phones,
  ]
  const state = async (): Promise<Parameters<typeof store.setSync>[3]> => {
    if (channel === null) return { sync_state: null, sync_error: null }
    if (number === undefined) return { sync_state: 'failed', sync_error: 'The contact has no phone number' }
    const entry = { contact: id, number, firstName: first_name, lastName: last_name }
    const stored = await requestContact(tx, account, channel, entry)
    return stored === 'gone'
      ? { sync_state: 'failed', sync_error: 'The channel was deleted' }
      : { sync_state: stored, sync_error: null }
  }
  await store.setSync(tx, account, id, await state())
}

/**
 * Stores the result of a sync with the channel's address book.
 * @param error reason; null on success
 */
export const storeSyncResult = store.storeSyncResult

/** Marks numbers (E.164) as present on the messaging app: their details become `WAPH`. */
export const foundOnMsgapp = async (tx: Tx, account: string, numbers: readonly string[]): Promise<void> => {
  const rows = await store.markOnMsgapp(tx, account, numbers.map(canonicalNumber))
  const ids = [...new Set(rows.map(({ contact_id }) => contact_id))]
  if (ids.length > 0) await publishEvents(tx, 'contact.updated', await load(tx, account, ids))
}

/**
 * Adds contacts and publishes their events. The caller must call `store.count` last.
 * @param isBulk true for imports: their events are paced
 */
export const add = async (tx: Tx, account: string, drafts: readonly Draft[], isBulk = false): Promise<Contact[]> => {
  const entries = drafts.map((draft) => ({ draft, id: uuid() }))
  const rows = entries.map(({ draft, id }) => withGrams(account, id, draft))
  await store.insert(tx, account, rows)
  const details = entries.flatMap(({ draft, id }) => draft.details.map((detail) => ({ ...detail, contact: id })))
  await store.addDetails(tx, account, details)
  for (const [i, { draft }] of entries.entries()) {
    const row = rows[i]
    if (row && draft.channel_id !== null) await requestSync(tx, account, row, draft)
  }
  const ids = entries.map(({ id }) => id)
  const contacts = await load(tx, account, ids)
  await publishEvents(tx, 'contact.created', contacts, isBulk)
  return contacts
}

/**
 * Adds one contact within the account's quota. Its last statement counts contacts.
 * @throws the 403 Problem
 */
export const create = async (tx: Tx, quotas: Quotas, account: Account, draft: Draft): Promise<Contact> => {
  const [created] = await add(tx, account.id, [draft])
  if (!created) throw new Error('the created contact is missing')
  if (!(await store.count(tx, account.id, 1, quotas.limitOf(account, 'contacts'))))
    throw quotas.exceeded(account, 'contacts')
  return created
}

/** A phone number (E.164) as a detail. */
export const phoneDetail = (number: string): Detail[] => {
  const read = readDetail('PH', number)
  return typeof read === 'string' ? [] : [read]
}

/** Changes a locked contact and publishes an event; no-op if nothing differs. */
export const change = async (tx: Tx, was: Contact, draft: Draft, isBulk = false): Promise<Contact> => {
  const { account_id: account, id } = was
  const { added, changed, removed } = changesOf(was.details, draft.details)
  const isSame = [...fieldNames, 'channel_id' as const].every((name) => was[name] === draft[name])
  if (isSame && added.length + changed.length + removed.length === 0) return was
  await store.removeDetails(tx, account, id, removed)
  for (const { id: detail, detail: to } of changed) await store.changeDetail(tx, account, id, detail, to)
  await store.addDetails(
    tx,
    account,
    added.map((detail) => ({ ...detail, contact: id })),
  )
  const row = withGrams(account, id, draft)
  await store.change(tx, account, row)
  if (draft.channel_id !== null || was.channel_id !== null) await requestSync(tx, account, row, draft)
  const contacts = await load(tx, account, [id])
  await publishEvents(tx, 'contact.updated', contacts, isBulk)
  return contacts[0] ?? was
}

/** Gives the contacts that have a number the one that replaced it (both canonical), on the messaging app. */
export const changeContactNumber = async (tx: Tx, account: string, before: string, number: string): Promise<void> => {
  const found = await store.byKeys(tx, account, [before])
  const ids = [...new Set(found.map(({ contact_id }) => contact_id))]
  if (ids.length === 0) return
  await store.lock(tx, account, ids)
  for (const was of await load(tx, account, ids)) {
    const details = was.details
      .map(toInput)
      .map(
        (detail): Detail => (detail.key === before ? { ...detail, type: 'WAPH', value: number, key: number } : detail),
      )
    await change(tx, was, { ...mapFields((name) => was[name]), channel_id: was.channel_id, details: unique(details) })
  }
}

/** Blocks or unblocks a locked contact and publishes an event; no-op if it is so already. */
export const setBlocked = async (tx: Tx, was: Contact, isBlocked: boolean): Promise<Contact> => {
  if ((await store.setBlocked(tx, was.account_id, was.id, isBlocked)) === 0) return was
  const contacts = await load(tx, was.account_id, [was.id])
  await publishEvents(tx, 'contact.updated', contacts)
  return contacts[0] ?? was
}

/** Returns the newest contact of an account in its event form; null if there is none. */
export const newestContact = async (sql: Sql, account: string) => {
  const [contact] = await load(sql, account, await store.newest(sql, account))
  return contact ? presentContact(contact) : null
}

/** Finds the contacts of numbers (E.164, in any of their forms), by `<account> <number>`, as messages and calls carry them. */
export const contactsByNumber = async (sql: Sql, numbers: readonly { account: string; number: string }[]) => {
  const lookups = numbers.map(({ account, number }) => ({ account, number: canonicalNumber(number) }))
  const rows = lookups.length === 0 ? [] : await store.byNumbers(sql, lookups)
  const found = new Map(
    rows.map(({ account_id, number, id, first_name, last_name, profile_pic_url }) => [
      `${account_id} ${number}`,
      { uuid: print('CON', id), first_name, last_name, profile_pic_url },
    ]),
  )
  return new Map(
    numbers.flatMap(({ account, number }) => {
      const contact = found.get(`${account} ${canonicalNumber(number)}`)
      return contact ? [[`${account} ${number}`, contact] as const] : []
    }),
  )
}
