import type { Sql, Tx } from '../db/sql.ts'
import { record } from '../events/ops.ts'
import { print, uuid } from '../lib/id.ts'
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

const tell = (tx: Tx, name: 'contact.created' | 'contact.updated', contacts: readonly Contact[]) =>
  record(
    tx,
    contacts.map((contact) => ({
      account: contact.account_id,
      name,
      channel: null,
      conversation: contact.id,
      payload: shownContact(contact),
    })),
  )

/** Adds contacts to an account's directory and tells of them; `store.count` is for the caller, at the end. */
export const add = async (tx: Tx, account: string, drafts: readonly Draft[]): Promise<Contact[]> => {
  const made = drafts.map((draft) => ({ draft, id: uuid() }))
  const rows = made.map(({ draft, id }) => withGrams(account, id, draft))
  await store.insert(tx, account, rows)
  const details = made.flatMap(({ draft, id }) => draft.details.map((detail) => ({ ...detail, contact: id })))
  await store.addDetails(tx, account, details)
  const ids = made.map(({ id }) => id)
  const contacts = await load(tx, account, ids)
  await tell(tx, 'contact.created', contacts)
  return contacts
}

/** Makes a locked contact say this, and tells of it; when it says so already, nothing happens. */
export const change = async (tx: Tx, was: Contact, draft: Draft): Promise<Contact> => {
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
  await store.change(tx, account, withGrams(account, id, draft))
  const contacts = await load(tx, account, [id])
  await tell(tx, 'contact.updated', contacts)
  return contacts[0] ?? was
}

/** Who numbers (E.164) belong to, by `<account> <number>`, as messages and calls carry it. */
export const knownBy = async (sql: Sql, wanted: readonly { account: string; number: string }[]) => {
  const rows = wanted.length === 0 ? [] : await store.byNumbers(sql, wanted)
  return new Map(
    rows.map(({ account_id, number, id, first_name, last_name }) => [
      `${account_id} ${number}`,
      { uuid: print('CON', id), first_name, last_name },
    ]),
  )
}
