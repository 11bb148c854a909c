import type { Db } from '../../../platform/db/sql.ts'
import { fullName } from '../../../platform/lib/full-name.ts'
import { print } from '../../../platform/lib/id.ts'
import type { Contact } from '../contact-presenter.ts'
import { load } from '../ops.ts'
import { search } from './contact-search.ts'

/** A contact as a search shows it. */
export type FoundContact = {
  /** `CON…` */
  readonly uuid: string
  readonly name: string
  /** Its first number or address. */
  readonly detail: string
  readonly createdAt: Date
}

const present = (row: Contact): FoundContact => ({
  uuid: print('CON', row.id),
  name: fullName(row),
  detail: row.details[0]?.value ?? '',
  createdAt: row.created_at,
})

/** Finds contacts by name, number or address, best first. @param page `offset`: better ones that precede the page */
export const findContacts = async (
  db: Db,
  account: string,
  text: string,
  page: { readonly offset: number; readonly limit: number },
): Promise<FoundContact[]> => {
  const { contacts } = await search(db, account, text, { channel: null, ...page })
  return contacts.map(present)
}

/** Finds a contact by its id without prefix. */
export const findContactById = async (db: Db, account: string, id: string): Promise<FoundContact[]> =>
  (await load(db, account, [id])).map(present)
