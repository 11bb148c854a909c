import type { Sql, Tx } from '../db/sql.ts'
import { record } from '../events/ops.ts'
import { print, uuid } from '../lib/id.ts'
import { keepContact } from '../msgapp/directory/ops.ts'
import { changesOf, type Detail, partsOf } from './details.ts'
import { digitsOf, gramsOf } from './keys.ts'
import { type Contact, shownContact } from './shown.ts'
import * as store from './store.ts'

/** What a contact says. */
export type Draft = {
  readonly first_name: string
  readonly last_name: string
  readonly profile_pic_url: string | null
  /** Of the messaging app. */
  readonly channel_id: string | null
  readonly details: readonly Detail[]
}

const withGrams = (account: string, id: string, { details, ...said }: Draft) => {
  const names = `${said.first_name} ${said.last_name}`
  const { phones, emails } = partsOf(details)
  const numbers = phones.map(digitsOf)
  const grams = gramsOf(account, id, { names, numbers, emails })
  return { ...said, id, numbers: numbers.join(' '), emails: emails.join(' '), grams }
}

/** The contacts of these ids with their details, in the order of creation. */
export const load = async (sql: Sql, account: string, ids: readonly string[]): Promise<Contact[]> => {
  if (ids.length === 0) return []
  const [rows, details] = [await store.byIds(sql, account, ids), await store.details(sql, account, ids)]
  const byContact = Map.groupBy(details, ({ contact_id }) => contact_id)
  return rows.map((row) => ({ ...row, details: byContact.get(row.id) ?? [] }))
}

const tell = (tx: Tx, name: 'contact.created' | 'contact.updated', contacts: readonly Contact[], isBulk = false) =>
  record(
    tx,
    contacts.map((contact) => ({
      account: contact.account_id,
      name,
      channel: null,
      conversation: contact.id,
      payload: shownContact(contact),
    })),
    isBulk,
  )

/** Has a contact kept in the address book of its channel too, and notes how that stands. */
const sync = async (
  tx: Tx,
  account: string,
  { id, first_name, last_name }: store.NewContact,
  draft: Draft,
): Promise<void> => {
  const { channel_id: channel, details } = draft
  const [number] = [...partsOf(details.filter(({ type }) => type === 'WAPH')).phones, ...partsOf(details).phones]
  const state = async (): Promise<Parameters<typeof store.setSync>[3]> => {
    if (channel === null) return { sync_state: null, sync_error: null }
    if (number === undefined) return { sync_state: 'failed', sync_error: 'The contact has no phone number' }
    const entry = { contact: id, number, firstName: first_name, lastName: last_name }
    const kept = await keepContact(tx, account, channel, entry)
    return kept === 'gone'
      ? { sync_state: 'failed', sync_error: 'The channel was deleted' }
      : { sync_state: kept, sync_error: null }
  }
  await store.setSync(tx, account, id, await state())
}

/** Notes whether a contact came into the address book of its channel. @param error why not; null when it did */
export const synced = store.endSync

/** Notes that numbers (E.164) are on the messaging app: details of them become `WAPH`. */
export const foundOnMsgapp = async (tx: Tx, account: string, numbers: readonly string[]): Promise<void> => {
  const rows = await store.markOnMsgapp(tx, account, numbers)
  const ids = [...new Set(rows.map(({ contact_id }) => contact_id))]
  if (ids.length > 0) await tell(tx, 'contact.updated', await load(tx, account, ids))
}

/** Adds contacts to an account's directory and tells of them; `store.count` is for the caller, at the end.
 *  @param isBulk of an import: its events are paced */
export const add = async (tx: Tx, account: string, drafts: readonly Draft[], isBulk = false): Promise<Contact[]> => {
  const made = drafts.map((draft) => ({ draft, id: uuid() }))
  const rows = made.map(({ draft, id }) => withGrams(account, id, draft))
  await store.insert(tx, account, rows)
  const details = made.flatMap(({ draft, id }) => draft.details.map((detail) => ({ ...detail, contact: id })))
  await store.addDetails(tx, account, details)
  for (const [i, { draft }] of made.entries()) {
    const row = rows[i]
    if (row && draft.channel_id !== null) await sync(tx, account, row, draft)
  }
  const ids = made.map(({ id }) => id)
  const contacts = await load(tx, account, ids)
  await tell(tx, 'contact.created', contacts, isBulk)
  return contacts
}

/** Makes a locked contact say this, and tells of it; when it says so already, nothing happens. */
export const change = async (tx: Tx, was: Contact, draft: Draft, isBulk = false): Promise<Contact> => {
  const { account_id: account, id } = was
  const { added, changed, removed } = changesOf(was.details, draft.details)
  const isSame =
    was.first_name === draft.first_name &&
    was.last_name === draft.last_name &&
    was.profile_pic_url === draft.profile_pic_url &&
    was.channel_id === draft.channel_id
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
  if (draft.channel_id !== null || was.channel_id !== null) await sync(tx, account, row, draft)
  const contacts = await load(tx, account, [id])
  await tell(tx, 'contact.updated', contacts, isBulk)
  return contacts[0] ?? was
}

/** Who numbers (E.164) belong to, by `<account> <number>`, as messages and calls carry it. */
export const knownBy = async (sql: Sql, wanted: readonly { account: string; number: string }[]) => {
  const rows = wanted.length === 0 ? [] : await store.byNumbers(sql, wanted)
  return new Map(
    rows.map(({ account_id, number, id, first_name, last_name, profile_pic_url }) => [
      `${account_id} ${number}`,
      { uuid: print('CON', id), first_name, last_name, profile_pic_url },
    ]),
  )
}
