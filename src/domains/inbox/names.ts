import type { Sql } from '../../platform/db/sql.ts'
import { fullName } from '../../platform/lib/full-name.ts'
import { parse } from '../../platform/lib/id.ts'
import { contactsByNumber } from '../contacts/ops.ts'

/** Returns the contact of a number; null if there is none. */
export const contactOfNumber = async (
  sql: Sql,
  account: string,
  number: string,
): Promise<{ id: string; name: string } | null> => {
  const contact = (await contactsByNumber(sql, [{ account, number }])).get(`${account} ${number}`)
  const id = contact ? parse('CON', contact.uuid) : null
  return contact && id ? { id, name: fullName(contact) || number } : null
}

/** Returns the name of a group. */
export const groupName = async (sql: Sql, account: string, group: string): Promise<string> =>
  (
    await sql.maybe<{ name: string }>`
    select name from msgapp_groups where account_id = ${account} and id = ${group}`
  )?.name ?? ''
